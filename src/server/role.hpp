#pragma once
// Who polls: the one word that leader, follower and taker-over agree on (decision 8).
//
//             take                 begin_call
//   vacant ─────────▶ polling ─────────────────▶ calling
//     ▲                 │ ▲                      │    │
//     └──── vacate ─────┘ └───── end_call ───────┘    │ take_over, by another thread:
//                         ▲                           │ polling, with the taker as holder
//                         └───────────────────────────┘
//
// While polling, only the holder may move the word. While calling, the holder and one taker race by
// compare-exchange: whoever loses leaves the role's rings, batch and counters alone.
//
// Threading: as drawn. Every successful move releases what its thread wrote to the role and
// acquires what the previous holder wrote.

#include <atomic>
#include <cstdint>

#include "base/contract.hpp"

namespace k2k::server {

enum class RolePhase : std::uint8_t { vacant, polling, calling };

class RoleWord {
 public:
  struct View {
    RolePhase phase;
    std::uint32_t holder;    // Index of the service thread; 0 when vacant.
    std::uint32_t sequence;  // Grows with every call begun.
  };

  [[nodiscard]] View view() const { return unpack(word_.load(std::memory_order_acquire)); }

  // True if the role was vacant and is now polled by `thread`.
  bool take(std::uint32_t thread) {
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    const View view = unpack(seen);
    if (view.phase != RolePhase::vacant) return false;
    return word_.compare_exchange_strong(seen, pack({RolePhase::polling, thread, view.sequence}),
                                         std::memory_order_acq_rel);
  }

  // By the holder, polling.
  void vacate(std::uint32_t thread) {
    const View view = expect(RolePhase::polling, thread);
    word_.store(pack({RolePhase::vacant, 0, view.sequence}), std::memory_order_release);
  }
  void begin_call(std::uint32_t thread) {
    const View view = expect(RolePhase::polling, thread);
    word_.store(pack({RolePhase::calling, thread, view.sequence + 1}), std::memory_order_release);
  }

  // By the holder after begin_call(): false if the role was taken over meanwhile.
  bool end_call(std::uint32_t thread) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    const View view = unpack(seen);
    if (view.phase != RolePhase::calling || view.holder != thread) return false;
    return word_.compare_exchange_strong(seen, pack({RolePhase::polling, thread, view.sequence}),
                                         std::memory_order_acq_rel);
  }

  // By any other thread: true if the call `stuck` describes is still the one in progress.
  bool take_over(const View& stuck, std::uint32_t thread) {
    std::uint64_t seen = pack(stuck);
    return stuck.phase == RolePhase::calling &&
           word_.compare_exchange_strong(seen, pack({RolePhase::polling, thread, stuck.sequence}),
                                         std::memory_order_acq_rel);
  }

 private:
  static constexpr std::uint64_t pack(View view) {
    return static_cast<std::uint64_t>(view.phase) | static_cast<std::uint64_t>(view.holder) << 8 |
           static_cast<std::uint64_t>(view.sequence) << 32;
  }
  static constexpr View unpack(std::uint64_t word) {
    return {static_cast<RolePhase>(word & 0xff), static_cast<std::uint32_t>(word >> 8 & 0xffffff),
            static_cast<std::uint32_t>(word >> 32)};
  }
  View expect(RolePhase phase, std::uint32_t thread) const {
    const View view = unpack(word_.load(std::memory_order_relaxed));
    K2K_EXPECT(view.phase == phase && view.holder == thread);
    return view;
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace k2k::server
