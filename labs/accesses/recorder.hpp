#pragma once
// Records every access that the kernels of a program make to its memory. The kernels are compiled
// a second time with -fsanitize=kernel-address, which calls a function before each access; here
// these functions note the access instead of judging it. So the recorded program is the program
// itself, and no kernel knows of it.
//
// The lanes of a wavefront run one after another on the cpu backend. Afterwards they are put
// side by side: of the lanes' next accesses, those with the lowest address of code form an
// instruction. That is how lanes meet again behind a branch or a loop, as on a GPU, because
// compilers place code in the order of the source.
//
// Threading: one launch at a time, on a device with one unit.

#include <cstdint>
#include <vector>

#include "labs/translation/simulated/wave_trace.hpp"

namespace k2k::labs::accesses {

// Memory whose accesses count. The addresses of a trace begin at (place + 1) << 40 for each range:
// equal runs have equal traces, wherever Linux places their memory.
struct Range {
  const void* begin;
  std::size_t bytes;
};

struct Limits {
  std::uint32_t waves = 256;     // The first ones of each launch.
  std::uint32_t accesses = 400;  // The first ones of each lane.
  std::uint32_t compute = 8;     // Instructions without memory before each: an estimate.
};

struct Access {
  std::uint64_t address;  // Of the trace.
  std::uint32_t code;     // Orders the instructions.
  std::uint16_t bytes;
  bool store;
};

// The accesses of at most 64 lanes as one wavefront of the trace. Accesses to the lines of the
// instruction before, by the same lanes, are part of it: one wide access.
void add_wave(const std::vector<std::vector<Access>>& lanes, std::uint32_t compute,
              translation::WaveTrace& trace);

// Records while it lives. `trace` gets the wavefronts at the end. With `behind`, accesses count
// from the first one to that address on, which a barrier must follow.
class Recording {
 public:
  Recording(const std::vector<Range>& ranges, const Limits& limits, translation::WaveTrace& trace,
            const void* behind = nullptr);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  const Limits limits_;
  translation::WaveTrace& trace_;
};

// The recording of the next launches: set by the runs (runs.hpp), taken by the adapters of the
// programs' kernels. nullptr: nothing is recorded.
struct Wanted {
  Limits limits;
  translation::WaveTrace trace;
  std::uint64_t bytes = 0;  // Of all ranges.
};
Wanted*& wanted();

// Records a launch if one is wanted and `counts` is true; `behind` as for Recording.
template <class Launch>
auto recorded(bool counts, const std::vector<Range>& ranges, const Launch& launch,
              const void* behind = nullptr) {
  Wanted* const want = counts ? wanted() : nullptr;
  if (want == nullptr) return launch();
  want->bytes = 0;
  for (const Range& range : ranges) want->bytes += range.bytes;
  const Recording recording(ranges, want->limits, want->trace, behind);
  return launch();
}

}  // namespace k2k::labs::accesses
