#pragma once
// What k2k doctor examines: one function a fact of the machine, each pure reading.
//
// ok    as K2K wants it
// warn  works, but slower or with less; `why` says what is lost
// fail  K2K, or a part of it that is always used, does not work here
//
// Threading: the main thread. Probes leave nothing behind: files are anonymous, descriptors closed.

#include <cstdint>
#include <string>
#include <vector>

#include "k2k/runtime.hpp"

namespace k2k::cli {

enum class Grade : std::uint8_t { ok, warn, fail };

struct Check {
  std::string name;  // "io_uring"
  Grade grade = Grade::ok;
  std::string found;  // What is the case, with the value.
  std::string why;    // Why it matters.
  std::string fix;    // A command or a setting; "" when there is nothing to mend.
};

// The machine, for a device of this configuration.
std::vector<Check> examine(const RuntimeConfig& config);

// The proof of all: a kernel makes a call and gets its answer. Once for each compiler of kernels.
namespace on_cpu {
Check round_trip(const RuntimeConfig& config);
}
#if defined(K2K_HAS_CUDA)
namespace on_gpu {
Check round_trip(const RuntimeConfig& config);
}
#endif

}  // namespace k2k::cli
