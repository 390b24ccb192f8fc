#pragma once
// The memory accesses of a kernel, wavefront by wavefront: for each memory instruction the distinct
// lines that its lanes touch (they are coalesced already), the other instructions before it, and
// whether the wavefront needs the data before its next instruction.
//
// Threading: confined to one thread.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "labs/translation/simulated/thesis.hpp"

namespace k2k::labs::translation {

inline constexpr std::uint64_t line_bytes = 64;

struct WaveTrace {
  struct Instruction {
    std::uint32_t first;    // In `lines`.
    std::uint32_t lines;    // Their number, 1 to 128.
    std::uint32_t lanes;    // Accesses before coalescing.
    std::uint32_t compute;  // Instructions without memory before it.
    bool waits;
  };
  struct Wave {
    std::uint32_t first;  // In `instructions`.
    std::uint32_t count;
  };
  std::vector<std::uint64_t> lines;
  std::vector<Instruction> instructions;
  std::vector<Wave> waves;

  void begin_wave() { waves.push_back({static_cast<std::uint32_t>(instructions.size()), 0}); }

  // One instruction of the current wave: lane i accesses `bytes` bytes at address_of(i). Expects a
  // wave, 1 to 64 lanes and at most 64 bytes each.
  template <class AddressOf>
  void access(std::uint32_t lanes, std::uint32_t bytes, std::uint32_t compute, bool waits,
              AddressOf address_of) {
    const auto first = static_cast<std::uint32_t>(lines.size());
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint64_t address = address_of(lane);
      lines.push_back(address / line_bytes);
      if (const std::uint64_t last = (address + bytes - 1) / line_bytes; last != lines.back()) {
        lines.push_back(last);
      }
    }
    const auto begin = lines.begin() + first;
    std::sort(begin, lines.end());
    lines.erase(std::unique(begin, lines.end()), lines.end());
    instructions.push_back(
        {first, static_cast<std::uint32_t>(lines.size()) - first, lanes, compute, waits});
    ++waves.back().count;
  }
};

}  // namespace k2k::labs::translation
