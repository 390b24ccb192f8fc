// Goal: one side unpacks the values that the other side packed; and a slot is the 64 bytes that
// both sides agreed on.

#include "protocol/slot.hpp"

#include <gtest/gtest.h>

#include "protocol/area.hpp"

namespace k2k::protocol {
namespace {

TEST(Slot, has_the_layout_of_the_drawing) {
  EXPECT_EQ(sizeof(Slot), 64u);
  EXPECT_EQ(alignof(Slot), 64u);
  EXPECT_EQ(offsetof(Slot, control), 0u);
  EXPECT_EQ(offsetof(Slot, attributes), 4u);
  EXPECT_EQ(offsetof(Slot, generation), 8u);
  EXPECT_EQ(offsetof(Slot, stamp), 12u);
  EXPECT_EQ(offsetof(Slot, arguments), 16u);
}

TEST(Slot, starts_free_when_its_memory_is_zero) {
  const Control control = unpack_control(0);
  EXPECT_EQ(control.state, SlotState::free);
  EXPECT_EQ(control.error, TransportError::none);
}

TEST(Slot, keeps_state_error_and_number_apart_in_one_word) {
  for (int state = 0; state < slot_state_count; ++state) {
    for (const TransportError error :
         {TransportError::none, TransportError::shutdown, TransportError::deadline}) {
      for (const std::uint32_t number : {0u, 1u, 257u, 0x7fffu, 0xfffeu, 0xffffu}) {
        const Control in{SlotState(state), error, static_cast<std::uint16_t>(number)};
        const Control out = unpack_control(pack(in));
        EXPECT_EQ(out.state, in.state);
        EXPECT_EQ(out.error, in.error);
        EXPECT_EQ(out.number, in.number);
      }
    }
  }
}

TEST(Slot, keeps_every_attribute_at_its_extremes) {
  for (const Scope scope : {Scope::work_item, Scope::work_group, Scope::kernel}) {
    for (std::uint32_t flags = 0; flags < 64; ++flags) {
      for (const std::uint32_t deadline : {0u, 1u, 255u}) {
        for (const std::uint32_t tenant : {0u, 1u, 65535u}) {
          const Attributes in{scope, static_cast<std::uint8_t>(flags),
                              static_cast<std::uint8_t>(deadline),
                              static_cast<std::uint16_t>(tenant)};
          const Attributes out = unpack_attributes(pack(in));
          EXPECT_EQ(out.scope, in.scope);
          EXPECT_EQ(out.flags, in.flags);
          EXPECT_EQ(out.deadline_class, in.deadline_class);
          EXPECT_EQ(out.tenant, in.tenant);
        }
      }
    }
  }
}

TEST(Slot, unpacks_any_word_of_a_device) {
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const auto word = static_cast<std::uint32_t>(step * 0x9e3779b97f4a7c15ull >> 32);
    EXPECT_EQ(pack(unpack_control(word)), word);
    EXPECT_EQ(pack(unpack_attributes(word)), word);
  }
}

TEST(Slot, goes_round_once_and_shows_number_and_error) {
  Slot slot{};
  move<SlotState::free, SlotState::populating, Side::device>(slot);
  EXPECT_EQ(observe(slot).state, SlotState::populating);
  move<SlotState::populating, SlotState::ready, Side::device>(slot, 257);
  EXPECT_EQ(observe(slot).number, 257);
  move<SlotState::ready, SlotState::processing, Side::host>(slot, 257);
  move<SlotState::processing, SlotState::finished, Side::host>(slot, 257, TransportError::shutdown);
  EXPECT_EQ(observe(slot).state, SlotState::finished);
  EXPECT_EQ(observe(slot).error, TransportError::shutdown);
  move<SlotState::finished, SlotState::free, Side::device>(slot);
  EXPECT_EQ(observe(slot).state, SlotState::free);
}

// --- The layout hash of the version handshake.

constexpr std::uint64_t hash_with(std::size_t changed, std::uint64_t fact) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (std::size_t index = 0; index < std::size(detail::layout_facts); ++index) {
    hash = (hash ^ (index == changed ? fact : detail::layout_facts[index])) * 0x100000001b3ull;
  }
  return hash;
}

TEST(LayoutHash, changes_when_any_fact_changes) {
  EXPECT_EQ(hash_with(std::size(detail::layout_facts), 0), layout_hash);
  for (std::size_t index = 0; index < std::size(detail::layout_facts); ++index) {
    EXPECT_NE(hash_with(index, detail::layout_facts[index] + 1), layout_hash) << "fact " << index;
  }
}

}  // namespace
}  // namespace k2k::protocol
