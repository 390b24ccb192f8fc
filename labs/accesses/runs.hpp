#pragma once
// The programs whose accesses are recorded: each makes its input, runs its main kernel once on the
// cpu backend with wavefronts of 64 lanes, and leaves a trace.
//
// Threading: one thread; each run starts a runtime.

#include <string>
#include <vector>

#include "labs/translation/recorded/trace_file.hpp"

namespace k2k::labs::accesses {

struct RunSettings {
  bool sorted = true;
  bool quick = false;  // Smaller inputs and traces.
  std::uint64_t seed = 1;
  std::string folder;  // For inputs: of this program and seed. Both orders share them.
};

struct Recordable {
  const char* name;  // As in programs.hpp of the simulated machine.
  bool has_order;    // Its input may be unsorted.
  Result<translation::RecordedTrace> (*run)(const RunSettings& settings);
};

const std::vector<Recordable>& recordables();

}  // namespace k2k::labs::accesses
