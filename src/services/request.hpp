#pragma once
// A request as the host holds it: copied from its slot once, never read from there again.
//
// The device may still write to the slot, which is therefore untrusted; the host validates and
// executes the copy.

#include <cstdint>

#include "protocol/slot.hpp"

namespace k2k::services {

class PartJudge;

struct Request {
  std::uint64_t arguments[protocol::argument_count] = {};
  std::uint32_t wave = 0;  // Row of the slot.
  std::uint8_t lane = 0;
  std::uint16_t number = 0;
  std::int16_t row = -1;    // Index into calls::rows, or -1.
  std::uint32_t stamp = 0;  // The device's clock at publication; 0 = not taken.
  protocol::Attributes attributes;
  // Judges the memory behind pointers within arguments (nested.hpp); null: nothing does.
  const PartJudge* parts = nullptr;

  [[nodiscard]] bool detached() const { return (attributes.flags & protocol::flag::detached) != 0; }
};

}  // namespace k2k::services
