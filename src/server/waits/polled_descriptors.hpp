#pragma once
// Descriptors that an epoll(7) set does not accept although their files can be waited for: sets
// that contain too many sets, one within the other or side by side, and all beyond the user's limit
// of registrations. One poll(2) waits for them and for the epoll set.
//
//   epoll set ──┐
//   descriptor ─┼── poll(2) ──▶ those that are ready, in turn
//   descriptor ─┘
//
// Cost: a wait is linear in the number of descriptors.
//
// Threading: confined to one thread.

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <vector>

namespace k2k::server {

class PolledDescriptors {
 public:
  [[nodiscard]] bool empty() const { return list_.size() <= 1; }
  [[nodiscard]] bool has(int descriptor) const {
    const auto place = std::lower_bound(list_.begin() + (list_.empty() ? 0 : 1), list_.end(),
                                        descriptor, is_below);
    return place != list_.end() && place->fd == descriptor;
  }

  // Adds a descriptor, or changes its events, which are poll(2)'s. Throws std::bad_alloc before any
  // change.
  void put(int descriptor, std::uint32_t events) {
    if (list_.empty()) list_.push_back({});
    const auto place = place_of(descriptor);
    const auto asked = static_cast<short>(events);
    if (place != list_.end() && place->fd == descriptor) {
      place->events = asked;
    } else {
      list_.insert(place, {descriptor, asked, 0});
    }
  }
  void erase(int descriptor) {
    if (has(descriptor)) list_.erase(place_of(descriptor));
  }
  void clear() { list_.clear(); }

  // Blocks until `set` or a descriptor is ready, or `limit` has passed (null: without end). Appends
  // reports of descriptors to `room`, beginning behind the last one of the wait before, and returns
  // their number. If Linux refuses the poll, because the process may have fewer descriptors by now,
  // every descriptor is reported: their calls are tried. Expects !empty().
  std::size_t wait(int set, const timespec* limit, std::span<epoll_event> room) {
    list_[0] = {set, POLLIN, 0};
    const bool refused = ::ppoll(list_.data(), list_.size(), limit, nullptr) < 0;
    if (refused && errno == EINTR) return 0;
    const std::size_t count = list_.size() - 1;
    std::size_t found = 0;
    for (std::size_t looked = 0; looked < count && found < room.size(); ++looked) {
      const pollfd& each = list_[1 + (first_ + looked) % count];
      if (!refused && each.revents == 0) continue;
      room[found].events = events_of(refused ? POLLERR : each.revents);
      room[found++].data.u64 = static_cast<std::uint64_t>(each.fd);
    }
    if (found != 0) {
      const auto last = place_of(static_cast<int>(room[found - 1].data.u64));
      first_ = static_cast<std::size_t>(last - list_.begin()) % count;
    }
    return found;
  }

 private:
  static bool is_below(const pollfd& each, int descriptor) { return each.fd < descriptor; }
  // The bits are epoll's. A closed number is an error, which its calls answer.
  static std::uint32_t events_of(short reports) {
    const auto events = static_cast<std::uint16_t>(reports);
    return (events & POLLNVAL) != 0 ? std::uint32_t{EPOLLERR} : events;
  }
  std::vector<pollfd>::iterator place_of(int descriptor) {
    return std::lower_bound(list_.begin() + 1, list_.end(), descriptor, is_below);
  }

  std::vector<pollfd> list_;  // The epoll set, then the descriptors in ascending order.
  std::size_t first_ = 0;     // The place of the descriptor that is reported first.
};

}  // namespace k2k::server
