#pragma once
// Requests that a role's holder has accepted and may not serve yet, because the budget of their
// tenant is exhausted. One queue per budget, in the order of acceptance; the holder asks again at
// the time that the budget gives. There are never more requests than slots: a second request of a
// slot is dropped, and the slot gets the answer of the first.
//
// Threading: the role's holder only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <vector>

#include "server/poll/bottom_half.hpp"
#include "server/waits/once_a_slot.hpp"

namespace k2k::server {

class ParkedRequests {
 public:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  struct Queue {
    std::deque<Pending> calls;
    std::uint64_t due = never;  // cycles(); `never` if no request waits.
  };

  enum class Added : std::uint8_t {
    parked,
    dropped,    // A request of its slot is parked already. Nobody answers this one.
    no_memory,  // No effect.
  };
  // `due`: the time to ask its budget again.
  [[nodiscard]] Added add(const Pending& call, std::size_t budget, std::uint64_t due) {
    bool alone = false;
    try {
      if (queues_.size() <= budget) queues_.resize(budget + 1);
      alone = slots_.add(call.request);
      if (!alone) return Added::dropped;
      queues_[budget].calls.push_back(call);
    } catch (const std::bad_alloc&) {
      if (alone) slots_.remove(call.request);
      return Added::no_memory;
    }
    queues_[budget].due = due;
    due_ = std::min(due_, due);
    ++count_;
    return Added::parked;
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  // cycles() from which a request may be served.
  [[nodiscard]] std::uint64_t due() const { return due_; }

  // Moves at most `most` requests of each due queue to `batch` if `admits` admits them; `due_of`
  // gives the time to ask again for the others.
  template <typename Admits, typename DueOf>
  void take(std::uint64_t moment, std::size_t most, std::vector<Pending>& batch,
            const Admits& admits, const DueOf& due_of) {
    due_ = never;
    for (Queue& queue : queues_) {
      std::size_t taken = 0;
      while (queue.due <= moment && !queue.calls.empty() && taken < most) {
        const Pending& first = queue.calls.front();
        if (!admits(first.request)) {
          queue.due = due_of(first.request);
          break;
        }
        batch.push_back(first);
        slots_.remove(first.request);
        queue.calls.pop_front();
        --count_;
        ++taken;
      }
      if (queue.calls.empty()) queue.due = never;
      due_ = std::min(due_, queue.due);
    }
  }

  // Moves all requests to `all`.
  void drain(std::vector<Pending>& all) {
    for (Queue& queue : queues_) all.insert(all.end(), queue.calls.begin(), queue.calls.end());
    *this = {};
  }

 private:
  std::vector<Queue> queues_;
  OnceASlot slots_;
  std::uint64_t due_ = never;
  std::size_t count_ = 0;
};

}  // namespace k2k::server
