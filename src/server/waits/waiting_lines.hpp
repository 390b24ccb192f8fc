#pragma once
// The calls that wait for descriptors, by descriptor: a line for each, first come, first served. A
// call that waits for several descriptors stands in several lines, and leaves all of them at once.
//
//   Wait ──▶ Stand in Line 5     each line knows the events that its calls wait for
//       └──▶ Stand in Line 9
//
// Cost: a call enters and leaves in time linear in its own descriptors, whatever the length of the
// lines; its deadline costs the logarithm of the number of deadlines.
//
// Threading: confined to one thread.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "server/poll/bottom_half.hpp"
#include "services/polls.hpp"

namespace k2k::server {

struct Wait;

struct Stand {
  Wait* wait = nullptr;
  std::uint16_t events = 0;  // poll(2)'s.
};

class Line {
 public:
  using Stands = std::list<Stand>;

  [[nodiscard]] bool empty() const { return stands_.empty(); }
  [[nodiscard]] std::size_t size() const { return stands_.size(); }
  // All that its calls wait for.
  [[nodiscard]] std::uint32_t events() const { return events_; }
  [[nodiscard]] Stands& stands() { return stands_; }

  // Moves the only element of `stand` to the end of the line.
  Stands::iterator push(Stands& stand) {
    count(stand.front().events, 1);
    stands_.splice(stands_.end(), stand);
    return std::prev(stands_.end());
  }
  void erase(Stands::iterator stand) {
    count(stand->events, -1);
    stands_.erase(stand);
  }

 private:
  void count(std::uint32_t events, std::int32_t change) {
    for (; events != 0; events &= events - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(events));
      counts_[bit] += change;
      const std::uint32_t mask = std::uint32_t{1} << bit;
      events_ = counts_[bit] == 0 ? events_ & ~mask : events_ | mask;
    }
  }

  Stands stands_;
  std::uint32_t events_ = 0;
  std::array<std::int32_t, 16> counts_{};  // Of the calls that wait for each event.
};

using Lines = std::map<int, Line>;  // By descriptor.

// A call that waits. Its owner is WaitingLines.
struct Wait {
  struct Place {
    Lines::iterator line;
    Line::Stands::iterator stand;
  };
  using Deadlines = std::multimap<Instant, Wait*>;

  Pending call;
  services::PollList list;  // Of a call with Readiness::several.
  Instant deadline = Instant::max();
  int fruitless = 0;  // Tries without result although a descriptor was reported.
  std::vector<Place> places = {};
  Deadlines::iterator due = {};  // If it has a deadline.
  std::list<Wait>::iterator self = {};
};

class WaitingLines {
 public:
  using Watched = services::PollList::Watched;

  [[nodiscard]] bool empty() const { return lines_.empty(); }

  // `watched` names each descriptor once. Throws std::bad_alloc before any change.
  Wait& add(Wait&& waiting, std::span<const Watched> watched) {
    std::list<Wait> one;
    Wait& wait = one.emplace_back(std::move(waiting));
    wait.self = one.begin();
    wait.places.reserve(watched.size());
    const std::size_t lines_most = lines_.size() + watched.size();
    if (emptied_.capacity() < lines_most) emptied_.reserve(2 * lines_most);
    Line::Stands stands;
    for (const Watched& each : watched) stands.push_back({&wait, each.events});
    if (wait.deadline != Instant::max()) wait.due = deadlines_.emplace(wait.deadline, &wait);
    try {
      for (const Watched& each : watched) {
        wait.places.push_back({lines_.try_emplace(each.descriptor).first, {}});
      }
    } catch (...) {
      for (const Wait::Place& place : wait.places) {
        if (place.line->second.empty()) lines_.erase(place.line);
      }
      if (wait.deadline != Instant::max()) deadlines_.erase(wait.due);
      throw;
    }
    for (Wait::Place& place : wait.places) {
      Line::Stands stand;
      stand.splice(stand.end(), stands, stands.begin());
      place.stand = place.line->second.push(stand);
    }
    waits_.splice(waits_.end(), one);
    return wait;
  }

  // Lines that are empty then stay until sweep().
  void remove(Wait& wait) {
    for (const Wait::Place& place : wait.places) {
      place.line->second.erase(place.stand);
      if (place.line->second.empty()) emptied_.push_back(place.line);  // add() has reserved room.
    }
    if (wait.deadline != Instant::max()) deadlines_.erase(wait.due);
    waits_.erase(wait.self);
  }

  // Removes the empty lines, after gone(descriptor) for each.
  template <class Gone>
  void sweep(const Gone& gone) {
    for (const Lines::iterator line : emptied_) {
      gone(line->first);
      lines_.erase(line);
    }
    emptied_.clear();
  }

  // Calls visit(descriptor, line) for each line that is not empty. It may remove calls.
  template <class Visit>
  void for_each_line(const Visit& visit) {
    for (auto& [descriptor, line] : lines_) {
      if (!line.empty()) visit(descriptor, line);
    }
  }
  // Calls visit(wait) for each call. It may remove that call.
  template <class Visit>
  void for_each_wait(const Visit& visit) {
    for (auto at = waits_.begin(); at != waits_.end();) visit(*at++);
  }
  // Nullptr: no call waits for it.
  Line* find(int descriptor) {
    const auto line = lines_.find(descriptor);
    return line == lines_.end() || line->second.empty() ? nullptr : &line->second;
  }

  // Instant::max(): none.
  [[nodiscard]] Instant first_deadline() const {
    return deadlines_.empty() ? Instant::max() : deadlines_.begin()->first;
  }
  // A call whose deadline has passed, or nullptr.
  Wait* late(Instant moment) {
    return first_deadline() <= moment ? deadlines_.begin()->second : nullptr;
  }

 private:
  std::list<Wait> waits_;
  Lines lines_;
  Wait::Deadlines deadlines_;
  std::vector<Lines::iterator> emptied_;
};

}  // namespace k2k::server
