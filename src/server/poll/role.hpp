#pragma once
// The word that names the holder of a role, which is the thread that polls. Leader, follower and
// taker agree by it (decision 8).
//
//   vacant ── take ──▶ held ── claimed by a taker ──▶ claimed ──▶ held by the taker   still in the
//     ▲                │ ▲                              │                             same call
//     └──── vacate ────┘ └──────────────────────────────┘ back to the holder          it ended
//
// The holder works at every call, a taker only after a call that lasted hundreds of microseconds.
// So the holder's side is cheap: it marks the beginning and the end of a call by plain stores
// (telemetry/mark.hpp) and then loads the word. The taker claims, passes a heavy barrier
// (base/asymmetric_barrier.hpp) and looks at the mark: either it sees that the call ended, or the
// holder will see the claim.
//
// Threading: as drawn; one taker at a time. A take or take-over acquires the previous holder's
// writes to the role before it vacated, or before it began the call.

#include <atomic>
#include <cstdint>

#include "base/asymmetric_barrier.hpp"
#include "base/contract.hpp"
#include "telemetry/mark.hpp"

namespace k2k::server {

enum class RolePhase : std::uint8_t { vacant, held, claimed };

class RoleWord {
 public:
  struct View {
    RolePhase phase;
    std::uint32_t holder;  // Index of the service thread; 0 when vacant.
  };

  [[nodiscard]] View view() const { return unpack(word_.load(std::memory_order_acquire)); }

  // Returns true if the role was vacant and `thread` now holds it.
  bool take(std::uint32_t thread) {
    return move(pack({RolePhase::vacant, 0}), pack({RolePhase::held, thread}));
  }

  // Called by the holder, outside a call. A concurrent claim fails.
  void vacate(std::uint32_t thread) {
    const std::uint64_t before = word_.exchange(pack({RolePhase::vacant, 0}));
    K2K_EXPECT(unpack(before).holder == thread);
  }

  // Called by the holder right after Mark::end(). Returns false if the role was taken over
  // meanwhile. If it returns true, a concurrent claim fails.
  bool still_held_by(std::uint32_t thread) {
    const std::uint64_t held = pack({RolePhase::held, thread});
    const std::uint64_t claimed = pack({RolePhase::claimed, thread});
    std::uint64_t seen = light_barrier_then_load(word_);  // Pairs with take_over().
    while (seen == claimed && !move(claimed, held)) seen = word_.load();
    return seen == held || seen == claimed;
  }

  // Called by any other thread. Returns true if `holder` is still in the call that `mark` showed as
  // `stuck`, and `thread` now holds the role.
  bool take_over(std::uint32_t holder, const telemetry::Mark& mark, telemetry::Mark::View stuck,
                 std::uint32_t thread) {
    const std::uint64_t held = pack({RolePhase::held, holder});
    const std::uint64_t claimed = pack({RolePhase::claimed, holder});
    if (!telemetry::Mark::inside(stuck) || !move(held, claimed)) return false;
    heavy_barrier();  // Pairs with still_held_by().
    if (mark.view() == stuck) return move(claimed, pack({RolePhase::held, thread}));
    move(claimed, held);
    return false;
  }

 private:
  bool move(std::uint64_t from, std::uint64_t to) {
    return word_.compare_exchange_strong(from, to);
  }
  static constexpr std::uint64_t pack(View view) {
    return static_cast<std::uint64_t>(view.phase) | static_cast<std::uint64_t>(view.holder) << 8;
  }
  static constexpr View unpack(std::uint64_t word) {
    return {static_cast<RolePhase>(word & 0xff), static_cast<std::uint32_t>(word >> 8)};
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace k2k::server
