#pragma once
// Calls that wait for something that no descriptor reports: a connect to a listener of AF_UNIX
// without room. The calls that wait for the same thing stand in a line. The first of a line is
// tried again at growing intervals; once it is through, the next one is tried at once.
//
//   add ──▶ [line: first come, first served] ── due ──▶ tried ──▶ ended
//                       ▲                                │ would wait: the line pauses longer
//                       └────────────────────────────────┘
//
// Cost: a look at each line that is due; one try that waits for each of them.
//
// Threading: confined to one thread.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <new>

#include "base/units.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

class RetriedCalls {
 public:
  static constexpr Nanoseconds pause_least = std::chrono::milliseconds(1);
  static constexpr Nanoseconds pause_most = std::chrono::milliseconds(32);

  // Adds a call to the line call.readiness.queue. Throws std::bad_alloc before any change.
  void add(const Pending& call, Instant moment) {
    const auto place = lines_.try_emplace(call.readiness.queue, Line{{}, moment}).first;
    try {
      place->second.calls.push_back(call);
    } catch (const std::bad_alloc&) {
      if (place->second.calls.empty()) lines_.erase(place);
      throw;
    }
  }

  // The moment of the next try, or Instant::max().
  [[nodiscard]] Instant next() const {
    Instant next = Instant::max();
    for (const auto& [queue, line] : lines_) next = std::min(next, line.due);
    return next;
  }

  // Tries the lines that are due by attempt(call), which returns a services::Answer. Reports each
  // call that has its answer by ended(call, value): -EAGAIN at the moment of its readiness.
  template <class Attempt, class Ended>
  void try_due(Instant moment, const Attempt& attempt, const Ended& ended) {
    for (auto place = lines_.begin(); place != lines_.end();) {
      Line& line = place->second;
      if (line.due <= moment) {
        expire(line, moment, ended);
        line.pause =
            try_line(line, attempt, ended) ? pause_least : std::min(2 * line.pause, pause_most);
        line.due = moment + line.pause;
      }
      place = line.calls.empty() ? lines_.erase(place) : std::next(place);
    }
  }

  // Ends the waits for which over(call) holds.
  template <class Over, class Ended>
  void end(const Over& over, const Ended& ended) {
    for (auto place = lines_.begin(); place != lines_.end();) {
      Line& line = place->second;
      std::erase_if(line.calls, [&](const Pending& call) {
        if (!over(call)) return false;
        ended(call, -ECANCELED);
        return true;
      });
      place = line.calls.empty() ? lines_.erase(place) : std::next(place);
    }
  }

 private:
  struct Line {
    std::deque<Pending> calls;
    Instant due{};
    Nanoseconds pause = pause_least / 2;  // The first try doubles it.
  };

  template <class Ended>
  static void expire(Line& line, Instant moment, const Ended& ended) {
    std::erase_if(line.calls, [&](const Pending& call) {
      if (!call.readiness.has_moment() || call.readiness.moment > moment) return false;
      ended(call, -EAGAIN);
      return true;
    });
  }

  // Returns true if a call was answered.
  template <class Attempt, class Ended>
  static bool try_line(Line& line, const Attempt& attempt, const Ended& ended) {
    bool any = false;
    while (!line.calls.empty()) {
      const services::Answer answer = attempt(line.calls.front());
      if (answer.would_wait) break;
      ended(line.calls.front(), answer.value);
      line.calls.pop_front();
      any = true;
    }
    return any;
  }

  std::map<std::uint64_t, Line> lines_;  // By what the calls wait for; none is empty.
};

}  // namespace k2k::server
