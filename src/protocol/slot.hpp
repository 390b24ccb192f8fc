#pragma once
// One request: 64 bytes, one cache line, one owner at a time (thesis, figure 3.5).
//
//   byte  0  control     state:8 | transport error:8 | call number:16   the word a move stores
//         4  attributes  scope:2 | flags:6 | deadline class:8 | tenant:16
//         8  generation  counts the claims of this slot; a ticket names slot and generation
//        12  stamp       low half of the device's clock at submission; 0 = not taken
//        16  arguments   six words; an answer lies in the first three (namespace answer_word)
//
// The layout has room for all five systems, so that none of them adds a word. State, error and call
// number share the word that is stored with release, so one store publishes all three.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"
#include "protocol/slot_state.hpp"
#include "protocol/words.hpp"

namespace k2k::protocol {

// The reason why a request did not reach the operating system. Never mixed with an errno.
enum class TransportError : std::uint8_t { none, shutdown, deadline };

enum class Scope : std::uint8_t { work_item, work_group, kernel };

namespace flag {
inline constexpr std::uint8_t async = 1;     // A ticket exists, which will be redeemed.
inline constexpr std::uint8_t detached = 2;  // A ticket exists and will be redeemed.
inline constexpr std::uint8_t urgent = 4;    // Do not hold back for coalescing.
inline constexpr std::uint8_t halted = 8;    // Do not delay for coalescing.
// A frequent call: one in sample_stride is timed. A call with a stamp represents sample_stride
// calls, a call without represents none.
inline constexpr std::uint8_t sampled = 16;
}  // namespace flag

struct Attributes {
  Scope scope = Scope::work_item;
  std::uint8_t flags = 0;           // Bits of namespace flag.
  std::uint8_t deadline_class = 0;  // 0 = none; larger classes are defined by the server.
  std::uint16_t tenant = 0;         // Owner of the request; below tenants_max.
};

// The number of calls that a stamped call with flag::sampled represents.
inline constexpr std::uint32_t sample_stride = 127;

// Number of distinct tenants. Tenant 0 is the default of launches that name none.
inline constexpr std::uint32_t tenants_max = 64;

struct Control {
  SlotState state = SlotState::free;
  TransportError error = TransportError::none;
  std::uint16_t number = 0;  // System-call number, as in <asm/unistd.h>.
};

inline constexpr int argument_count = 6;

// Which argument words an answer takes.
namespace answer_word {
inline constexpr int value = 0;
inline constexpr int begun = 1;  // The host's cycles(), when a thread began with the request ...
inline constexpr int done = 2;   // ... and when the call had returned.
}  // namespace answer_word

struct alignas(64) Slot {
  std::uint32_t control;
  std::uint32_t attributes;
  std::uint32_t generation;
  std::uint32_t stamp;
  std::uint64_t arguments[argument_count];
};
static_assert(sizeof(Slot) == 64 && alignof(Slot) == 64);
static_assert(offsetof(Slot, generation) == 8 && offsetof(Slot, arguments) == 16);

K2K_HD constexpr std::uint32_t pack(Control control) {
  return static_cast<std::uint32_t>(control.state) |
         static_cast<std::uint32_t>(control.error) << 8 |
         static_cast<std::uint32_t>(control.number) << 16;
}
K2K_HD constexpr Control unpack_control(std::uint32_t word) {
  return {static_cast<SlotState>(word & 0xff), static_cast<TransportError>(word >> 8 & 0xff),
          static_cast<std::uint16_t>(word >> 16)};
}
K2K_HD constexpr std::uint32_t pack(Attributes attributes) {
  return static_cast<std::uint32_t>(attributes.scope) |
         static_cast<std::uint32_t>(attributes.flags) << 2 |
         static_cast<std::uint32_t>(attributes.deadline_class) << 8 |
         static_cast<std::uint32_t>(attributes.tenant) << 16;
}
K2K_HD constexpr Attributes unpack_attributes(std::uint32_t word) {
  return {static_cast<Scope>(word & 3), static_cast<std::uint8_t>(word >> 2 & 0x3f),
          static_cast<std::uint8_t>(word >> 8 & 0xff), static_cast<std::uint16_t>(word >> 16)};
}

// The slot's control as the other side last published it. Pairs with move()'s release.
K2K_HD inline Control observe(const Slot& slot) {
  return unpack_control(load_acquire(&slot.control));
}

// The same as a hint: it orders nothing, and a GPU keeps its caches.
K2K_HD inline Control observe_hint(const Slot& slot) {
  return unpack_control(load_hint(&slot.control));
}

// The only store to a control word in the code base. A move that is not in the table does not
// compile. The observer of the move also sees everything that the mover wrote to the slot before;
// the device makes a slot ready only after fence_system(). The device's other moves concern the
// device alone: the host acts on ready slots, and reads the others after the launch.
template <SlotState from, SlotState to, Side by>
K2K_HD inline void move(Slot& slot, std::uint16_t number = 0,
                        TransportError error = TransportError::none) {
  static_assert(may_move(from, to, by), "slot_state.hpp draws no such move for this side");
  const std::uint32_t word = pack(Control{to, error, number});
  if constexpr (by == Side::host) {
    store_release(&slot.control, word);
  } else if constexpr (to == SlotState::ready) {
    store_after_fence(&slot.control, word);
  } else {
    device_store(&slot.control, word);
  }
}

}  // namespace k2k::protocol
