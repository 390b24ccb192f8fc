#include "labs/accesses/recorder.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "device/k2k.hpp"

namespace k2k::labs::accesses {

namespace {

using translation::WaveTrace;

constexpr std::uint32_t lanes_a_wave = translation::thesis::lanes;

struct State {
  bool active = false;
  bool counts = false;  // The access to `behind` was made.
  std::uint64_t behind = 0;
  std::vector<Range> ranges;
  std::uint32_t accesses_most = 0;
  std::uint32_t waves_most = 0;
  std::vector<std::vector<Access>> lanes;  // lanes_a_wave for each wavefront.
};
State state;

extern "C" char __executable_start;  // NOLINT(bugprone-reserved-identifier): the linker's name.

// Before an access of a kernel, and before those of the host's code in the same files.
void note(std::uint64_t address, std::uint64_t bytes, bool store, const void* code) {
  if (!state.active) return;
  if (!state.counts) {
    state.counts = address == state.behind;
    return;
  }
  std::uint64_t table = 0;
  for (const Range& range : state.ranges) {
    ++table;
    const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(range.begin);
    if (offset >= range.bytes) continue;
    const std::uint32_t rank = k2k::item_rank();
    const std::uint64_t waves_a_group = (k2k::group_size() + lanes_a_wave - 1) / lanes_a_wave;
    const std::uint64_t wave = k2k::group_rank() * waves_a_group + rank / lanes_a_wave;
    if (wave >= state.waves_most) return;
    std::vector<Access>& lane = state.lanes[wave * lanes_a_wave + rank % lanes_a_wave];
    if (lane.size() >= state.accesses_most) return;
    const auto place =
        static_cast<std::uint32_t>(static_cast<const char*>(code) - &__executable_start);
    lane.push_back({(table << 40) + offset, place, static_cast<std::uint16_t>(bytes), store});
    return;
  }
}

}  // namespace

Wanted*& wanted() {
  static Wanted* current = nullptr;
  return current;
}

void add_wave(const std::vector<std::vector<Access>>& lanes, std::uint32_t compute,
              WaveTrace& trace) {
  K2K_EXPECT(lanes.size() <= lanes_a_wave);
  std::vector<std::size_t> next(lanes.size(), 0);
  std::vector<std::uint32_t> before;  // The lanes of the instruction before.
  trace.begin_wave();
  while (true) {
    std::vector<std::uint32_t> now;
    std::uint32_t code = ~std::uint32_t{0};
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      if (next[lane] == lanes[lane].size()) continue;
      const std::uint32_t mine = lanes[lane][next[lane]].code;
      if (mine < code) now.clear();
      code = std::min(code, mine);
      if (mine == code) now.push_back(lane);
    }
    if (now.empty()) return;
    const auto access_of = [&](std::uint32_t at) -> const Access& {
      return lanes[now[at]][next[now[at]]];
    };
    const bool store = access_of(0).store;
    trace.access(static_cast<std::uint32_t>(now.size()), access_of(0).bytes, compute, !store,
                 [&](std::uint32_t at) { return access_of(at).address; });
    for (const std::uint32_t lane : now) ++next[lane];
    if (trace.waves.back().count >= 2 && now == before) {
      const WaveTrace::Instruction& last = trace.instructions.back();
      const WaveTrace::Instruction& other = trace.instructions[trace.instructions.size() - 2];
      const auto begin = trace.lines.begin();
      if (last.waits == other.waits &&
          std::equal(begin + last.first, begin + last.first + last.lines, begin + other.first,
                     begin + other.first + other.lines)) {
        trace.lines.resize(last.first);
        trace.instructions.pop_back();
        --trace.waves.back().count;
      }
    }
    before = std::move(now);
  }
}

Recording::Recording(const std::vector<Range>& ranges, const Limits& limits, WaveTrace& trace,
                     const void* behind)
    : limits_(limits), trace_(trace) {
  K2K_EXPECT(!state.active);
  state.ranges = ranges;
  state.behind = reinterpret_cast<std::uint64_t>(behind);
  state.counts = behind == nullptr;
  state.accesses_most = limits.accesses;
  state.waves_most = limits.waves;
  state.lanes.assign(std::size_t{limits.waves} * lanes_a_wave, {});
  state.active = true;
}

Recording::~Recording() {
  state.active = false;
  for (std::uint32_t wave = 0; wave < limits_.waves; ++wave) {
    const auto first = state.lanes.begin() + std::ptrdiff_t{wave} * lanes_a_wave;
    std::vector<std::vector<Access>> lanes(std::make_move_iterator(first),
                                           std::make_move_iterator(first + lanes_a_wave));
    const bool touched =
        std::any_of(lanes.begin(), lanes.end(), [](const auto& lane) { return !lane.empty(); });
    if (touched) add_wave(lanes, limits_.compute, trace_);
  }
  state.lanes.clear();
}

}  // namespace k2k::labs::accesses

// The functions that gcc calls with -fsanitize=kernel-address.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

#define K2K_NOTED(bytes)                                                           \
  void __asan_load##bytes##_noabort(std::uint64_t address) {                       \
    k2k::labs::accesses::note(address, bytes, false, __builtin_return_address(0)); \
  }                                                                                \
  void __asan_store##bytes##_noabort(std::uint64_t address) {                      \
    k2k::labs::accesses::note(address, bytes, true, __builtin_return_address(0));  \
  }
K2K_NOTED(1)
K2K_NOTED(2)
K2K_NOTED(4)
K2K_NOTED(8)
K2K_NOTED(16)
#undef K2K_NOTED

// A lane's access has at most a line: a structure is many accesses of a device.
void __asan_loadN_noabort(std::uint64_t address, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += 16) {
    k2k::labs::accesses::note(address + at, std::min<std::uint64_t>(bytes - at, 16), false,
                              __builtin_return_address(0));
  }
}
void __asan_storeN_noabort(std::uint64_t address, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += 16) {
    k2k::labs::accesses::note(address + at, std::min<std::uint64_t>(bytes - at, 16), true,
                              __builtin_return_address(0));
  }
}
void __asan_handle_no_return() {}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
