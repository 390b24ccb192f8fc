#pragma once
// The words that other threads write for a unit: the unit sleeps on them, and finds there the
// halted work-items to check again.
//
//   server                               unit
//   slot = finished                      begin_sleep(): word |= sleeping, (barrier)
//   (barrier)                            checks again, sleep()
//   word ─▶ seen                         announce_halting(): word |= halting, (barrier)
//   seen has halting:  post the row        checks again
//   seen has sleeping: clear it, wake
//   seen has foreigners: tell all units  a slot of another unit's row: foreigner_comes() there
//
// Each side stores, then loads the other side's word, so each needs a full barrier in between. The
// server is there once a call, the unit once a nap: the unit pays for both with membarrier(2), and
// an awake unit costs resume_row() one plain load. Without membarrier both use a read-modify-write.
//
// Threading: as marked; the functions for any thread may be called in signal handlers, too. Not
// instrumented for ThreadSanitizer (sanitizers.hpp).

#include <atomic>
#include <cstdint>

#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/pages.hpp"
#include "base/units.hpp"

namespace k2k::backend::cpu {

class Attention {
 public:
  // For the rows [first_row, first_row + rows) of the area.
  Attention(std::uint32_t first_row, std::uint32_t rows);
  [[nodiscard]] bool usable() const { return !pages_.empty(); }

  // --- By any thread.

  // Lanes of `row` were completed. True: a work-item of another unit halts or polls on one of these
  // rows, so the caller must notify all units by resume_foreign().
  [[nodiscard]] bool resume_row(std::uint32_t row) noexcept;
  void resume_foreign() noexcept;
  // The unit checks again everything it waits for.
  void wake() noexcept;
  // By the other unit: its work-item begins or ends to wait on one of these rows.
  void foreigner_comes() noexcept;
  void foreigner_goes() noexcept;

  // --- By the unit's thread.

  void begin_launch();
  // From now on resume_row() posts rows.
  void announce_halting();
  [[nodiscard]] K2K_ALWAYS_INLINE bool posted() const {
    return posted_.load(std::memory_order_relaxed) != 0;
  }
  // True: rows were posted since the last call.
  [[nodiscard]] K2K_ALWAYS_INLINE bool take_posted() {
    // Pairs with resume_row(): the rows were posted before.
    return posted() && posted_.exchange(0, std::memory_order_acquire) != 0;
  }
  // The rows posted among 64, from 64 × `word` on.
  [[nodiscard]] K2K_ALWAYS_INLINE std::uint64_t take_rows(std::uint32_t word) {
    if (rows_[word].load(std::memory_order_relaxed) == 0) return 0;
    return rows_[word].exchange(0, std::memory_order_acquire);
  }
  // True: resume_foreign() was called since the last call.
  [[nodiscard]] K2K_ALWAYS_INLINE bool take_foreign() {
    return foreign_.exchange(0, std::memory_order_acquire) != 0;
  }
  // Between them, sleep() returns at a wake, also at one before it.
  void begin_sleep();
  void sleep(Nanoseconds longest);
  void end_sleep();

 private:
  // Bit 0: sleeps; bit 1: has halted work-items; above: work-items of other units that wait on
  // these rows.
  static constexpr std::uint32_t sleeping = 1;
  static constexpr std::uint32_t halting = 2;
  static constexpr std::uint32_t one_foreign = 4;

  alignas(64) std::atomic<std::uint32_t> word_{0};  // The futex of the sleeping unit.
  const std::uint32_t first_row_;
  alignas(64) std::atomic<std::uint32_t> posted_{0};
  std::atomic<std::uint32_t> foreign_{0};
  Pages pages_;
  std::atomic<std::uint64_t>* const rows_;  // A bit a row.
};

}  // namespace k2k::backend::cpu
