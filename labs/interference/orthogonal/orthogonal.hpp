#pragma once
// Are a cap and the three mitigations independent? HISS, section VI, calls the governor orthogonal
// to steering, coalescing and the monolithic bottom half, without measuring it. Here each of the
// paper's eight combinations (staged or monolithic), and the four of this project's split bottom
// half, serves ubench under each cap.
//
// Threading: the caller's thread watches; each row has a runtime and a thread for its launches.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::orthogonal {

struct Case {
  server::Steering steering = server::Steering::spread;
  bool coalescing = false;
  server::BottomHalfMode bottom_half = server::BottomHalfMode::monolithic;
  std::uint32_t cap_permille = 0;
};

const char* steering_of(const Case& one);     // "spread", "steered"
const char* bottom_half_of(const Case& one);  // "monolithic", "split", "staged"

// Twelve combinations under each cap; by default 1, 5 and 25 %.
std::vector<Case> all_cases(const std::vector<std::uint32_t>& caps_permille = {10, 50, 250});

// The server's configuration in a row: one core (the first that the process may use) if steered, a
// window of 13 us if coalescing, and the budget for the cap.
RuntimeConfig configuration_of(const RuntimeConfig& base, const Case& one);

// A row: steering, coalescing, bottom_half, cap, share (of all cores' CPU time, measured from
// outside), throughput (requests a second), per_cpu_s (requests a CPU-second), delay_p50_us and
// delay_p99_us (from the doorbell to the answer, including the start of the row).
// Errors: as Runtime::create(), the stream and the observer; ENODATA, no request was measured.
Result<nlohmann::ordered_json> measure(const RuntimeConfig& base, const Case& one, double seconds);

}  // namespace k2k::labs::orthogonal
