#pragma once
// Waits for descriptors: poll, ppoll, epoll_wait and kin, select, pselect6.
//
//   try_polls()  makes the call with a timeout of 0, select with copies of its sets, because Linux
//                clears them. Answers if a descriptor is ready, or if the call need not wait.
//   PollList     the descriptors of a call that waits: copied once, looked at again by one poll(2)
//   wait_for_polls()  makes the call on a thread that may be kept, for the rest of its time
//
// epoll_wait and kin wait for the descriptor of their set (Readiness::descriptor), all others for
// those that their arguments name (Readiness::several). A call with more than
// PollList::descriptors_max descriptors keeps a thread. A mask of signals is looked at for Linux'
// errors and has no other effect: a work-item has no thread to which a signal could be delivered.
//
// Threading: reentrant; a PollList has one owner.

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "services/services.hpp"

namespace k2k::services {

// The first try notes the end of the call's time. Nothing: another call.
std::optional<Answer> try_polls(const Request& request, Progress& progress);

// After try_polls(). Nothing: another call.
std::optional<std::int64_t> wait_for_polls(const Request& request, const Progress& progress);

class PollList {
 public:
  static constexpr std::size_t descriptors_max = 8'192;

  struct Watched {
    int descriptor = -1;
    std::uint16_t events = 0;  // poll(2)'s, which are epoll(7)'s.
  };

  PollList() = default;
  // Copies what a call of poll, ppoll, select or pselect6 names. Nothing: the memory cannot be
  // read, or these are more than descriptors_max. Throws std::bad_alloc.
  static std::optional<PollList> of(const Request& request);

  // Each descriptor once, in ascending order. K2K's own and negative numbers are left out: no event
  // of theirs ends the wait. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Watched> watched() const;

  // Looks at all descriptors, as Linux does when it is woken: by their numbers, so a number that
  // was closed meanwhile reports POLLNVAL (poll) or counts as ready (select, since Linux 5.17).
  // Returns the answer of the call once its results are in the caller's memory. Nothing: no
  // descriptor is ready. `end`: of the call's time; {}: never.
  std::optional<std::int64_t> look(Instant end);
  // Likewise, when the time has passed: 0 if no descriptor is ready.
  std::int64_t look_at_last(Instant end);

 private:
  explicit PollList(const Request& request) : request_(request) {}
  bool take_list();
  bool take_sets();
  // Fills in the reports. Returns the number of descriptors with one, or a negative errno.
  std::int64_t poll();
  // Writes the results, and returns the answer of a call of which poll() has found so many.
  std::int64_t answer(std::int64_t found, Instant end) const;

  Request request_;
  std::size_t set_bits_ = 0;  // Of each set, the descriptors that Linux looks at.
  std::vector<pollfd> list_;
};

}  // namespace k2k::services
