#pragma once
// Proves that a kernel's system call has the same effect as the same call of a host thread: makes
// both in identical sandboxes, and compares answers, buffers and the sandboxes' states.
//
// Each case is made by a thread of the host that is not the main one, and by kernels of a strict
// device, or of a GPU, with the arguments on a stack, in local, in device and in shared memory.
// Cases are varied: each descriptor is replaced by -1, each pointer by null, and, on a device that
// is not strict, by a page without access rights.
//
// Threading: the main thread, before the process has others.

#include <cstdint>
#include <string>
#include <vector>

#include "calls/entry.hpp"
#include "cli/verify/namespaces.hpp"

namespace k2k::cli::verify {

enum class Outcome : std::uint8_t {
  same,
  refused,       // By every policy or by the device, as a kernel that made the call was told.
  mismatched,    // `notes` are the differences.
  unverifiable,  // `notes` is the reason.
  without_case,
};

struct Verdict {
  const calls::Entry* call = nullptr;
  Outcome outcome = Outcome::without_case;
  int comparisons = 0;
  std::vector<std::string> notes = {};
};

struct Report {
  std::vector<Verdict> verdicts;  // Of the calls of the class `ready`, in the given order.
  std::string device;             // Its name.
  // Empty: network, System V objects and the host's name are of namespaces of this process.
  std::vector<MissingNamespace> missing;
};

enum class Device : std::uint8_t { cpu, gpu };

// Errors throw std::runtime_error: no sandbox, no runtime, no kernels for GPUs in this program.
Report verify(Device device, const std::vector<const calls::Entry*>& chosen);

}  // namespace k2k::cli::verify
