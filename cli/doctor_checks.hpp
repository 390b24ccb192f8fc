#pragma once
// The checks of k2k doctor: one function for each property of the machine; each only reads.
//
// ok    as K2K needs it
// warn  works, but slower or with fewer features; `why` names the loss
// fail  K2K, or a part of it that is always used, does not work on this machine
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
  std::string found;  // The property, with its value.
  std::string why;    // The reason why it matters.
  std::string fix;    // A command or a setting; "" if no fix is needed.
};

// The machine, for a device of this configuration.
std::vector<Check> examine(const RuntimeConfig& config);

// The complete test: a kernel makes a call and gets its answer. Once for each compiler of kernels.
namespace on_cpu {
Check round_trip(const RuntimeConfig& config);
const char* backend_name();
}  // namespace on_cpu
namespace on_gpu {  // Weak: nullptr in a program without code for GPUs.
[[gnu::weak]] Check round_trip(const RuntimeConfig& config);
[[gnu::weak]] const char* backend_name();  // "cuda" or "hip".
}  // namespace on_gpu

}  // namespace k2k::cli
