#pragma once
// The work-items of a unit that poll, oldest first, and when to poll which slot.
//
// A poll costs the server time: the cache line of the next answer leaves the server's core, and the
// answer waits until the line is back (measured: a fifth of the throughput of small
// reads with sixteen in flight). So a unit with nothing else to do polls only slots that are likely
// to have an answer:
//
//   in order   Answers mostly come in the order of the calls. Only the oldest is polled, then
//              the next; all of them once the oldest has kept its place for `patience`.
//   scattered  If that found an answer, all are polled for a while.
//   rest       After answers were found, nothing is polled until half of the entries
//              that still wait should be ready, judged by the pace so far. With fewer than four: at
//              once. Nor after fewer than four that overtook all others: the older ones wait for
//              something else, a disk perhaps, and have no part in that pace.
//
// Time is an argument: cycles(). A template so that ThreadSanitizer's build keeps the scheduler's
// copy apart (sanitizers.hpp).
//
// Threading: confined to one thread.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/pages.hpp"

namespace k2k::backend::cpu {

struct PollerPace {
  std::uint64_t patience = 0;   // Cycles that the oldest may hold up the others.
  std::uint64_t scattered = 0;  // Cycles for which all are polled.
  std::uint64_t rest_max = 0;   // Cycles.
};

template <class Entry>
class Pollers {
 public:
  // Holds up to `capacity` entries.
  Pollers(std::uint32_t capacity, const PollerPace& pace)
      : pace_(pace),
        mask_(std::bit_ceil(capacity) - 1),
        pages_((mask_ + std::size_t{1}) * sizeof(Entry*)),
        ring_(pages_.template as<Entry*>()) {}

  [[nodiscard]] bool usable() const { return ring_ != nullptr; }
  [[nodiscard]] K2K_ALWAYS_INLINE bool empty() const { return count_ == 0; }
  [[nodiscard]] K2K_ALWAYS_INLINE std::uint32_t size() const { return count_; }
  K2K_ALWAYS_INLINE void push(Entry& entry) { at(count_++) = &entry; }

  void restart() {
    count_ = oldest_ = 0;
    interval_ = 0;
    moved_ = found_ = rest_until_ = scattered_until_ = 0;
  }

  // Gives every entry to `wake` for which `finished` is seen to hold; their number. May poll
  // none or one of them.
  template <class Finished, class Wake>
  K2K_ALWAYS_INLINE std::uint32_t poll(std::uint64_t moment, Finished finished, Wake wake) {
    if (count_ == 0 || moment < rest_until_) return 0;
    std::uint32_t woken = take_oldest(finished, wake);
    bool rests = woken != 0;
    if (woken != 0) moved_ = moment;
    const bool scattered = moment < scattered_until_;
    if (scattered || moment - moved_ >= pace_.patience) {
      const std::uint32_t out_of_order = take_any(finished, wake);
      if (out_of_order != 0) scattered_until_ = moment + pace_.scattered;
      rests = rests || out_of_order >= few;
      woken += out_of_order;
      moved_ = moment;
    }
    if (rests) {
      set_rest(moment, woken);
    } else if (woken != 0) {
      found_ = moment;
    }
    return woken;
  }

  // The same, and certainly polls every one. For a unit that is about to sleep.
  template <class Finished, class Wake>
  K2K_ALWAYS_INLINE std::uint32_t poll_all(Finished finished, Wake wake) {
    return take_any(finished, wake);
  }

  // Removes the entry that was pushed last, if it is this one.
  K2K_ALWAYS_INLINE bool take_back(const Entry& entry) {
    if (count_ == 0 || at(count_ - 1) != &entry) return false;
    --count_;
    return true;
  }

 private:
  static constexpr std::uint32_t few = 4;

  template <class Finished, class Wake>
  K2K_ALWAYS_INLINE std::uint32_t take_oldest(Finished& finished, Wake& wake) {
    const std::uint32_t before = count_;
    while (count_ != 0 && finished(*at(0))) {
      wake(*at(0));
      ++oldest_;
      --count_;
    }
    return before - count_;
  }

  template <class Finished, class Wake>
  K2K_ALWAYS_INLINE std::uint32_t take_any(Finished& finished, Wake& wake) {
    std::uint32_t kept = 0;
    for (std::uint32_t index = 0; index < count_; ++index) {
      Entry* const entry = at(index);
      if (finished(*entry)) {
        wake(*entry);
      } else {
        at(kept++) = entry;
      }
    }
    const std::uint32_t taken = count_ - kept;
    count_ = kept;
    return taken;
  }

  K2K_ALWAYS_INLINE void set_rest(std::uint64_t moment, std::uint32_t woken) {
    interval_ = (interval_ * 7 + at_most(pace_.rest_max, (moment - found_) / woken)) / 8;
    found_ = moment;
    rest_until_ = moment + at_most(pace_.rest_max, interval_ * (count_ < few ? 0 : count_ / 2));
  }
  static K2K_ALWAYS_INLINE std::uint64_t at_most(std::uint64_t limit, std::uint64_t value) {
    return value < limit ? value : limit;
  }
  K2K_ALWAYS_INLINE Entry*& at(std::uint32_t place) { return ring_[(oldest_ + place) & mask_]; }

  const PollerPace pace_;
  const std::uint32_t mask_;
  Pages pages_;
  Entry** const ring_;
  std::uint32_t oldest_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t interval_ = 0;         // Cycles between answers, a moving mean.
  std::uint64_t moved_ = 0;            // When the oldest changed, or all were polled.
  std::uint64_t found_ = 0;            // When answers were found.
  std::uint64_t rest_until_ = 0;       // Nothing is polled before.
  std::uint64_t scattered_until_ = 0;  // All are polled until then.
};

}  // namespace k2k::backend::cpu
