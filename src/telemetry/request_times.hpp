#pragma once
// The parts of a request's time, from the device's first step to its next (thesis, figure 4.6).
// Page faults and system calls are both requests.
//
//   call or touch ──▶ published ──▶ a thread begins with it ──▶ done ──▶ work-item runs
//             initialisation  scheduling            processing    completion
//
// A page fault's signal precedes the first clock reading, and the return from it follows the last.
// Only some of the frequent calls are timed; they represent the others (sampler.hpp).
//
// Threading: RequestTimes is written by one thread and read by any.

#include <array>
#include <cstddef>
#include <cstdint>

#include "telemetry/counter.hpp"
#include "telemetry/histogram.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::telemetry {

class RequestTimes {
 public:
  void record(RequestPart part, std::uint64_t cycles, std::uint64_t requests = 1) {
    const auto index = static_cast<std::size_t>(part);
    cycles_[index].record(cycles, requests);
    sum_cycles_[index].add(cycles * requests);
    requests_[index].add(requests);
  }
  [[nodiscard]] std::uint64_t sum(RequestPart part) const {
    return sum_cycles_[static_cast<std::size_t>(part)].value();
  }
  // The number of requests; a sampled request counts for all that it represents.
  [[nodiscard]] std::uint64_t requests(RequestPart part) const {
    return requests_[static_cast<std::size_t>(part)].value();
  }
  void add_to(RequestReport& report) const {
    for (std::size_t part = 0; part < request_parts; ++part) {
      cycles_[part].add_to(report.cycles[part]);
      report.sum_cycles[part] += sum_cycles_[part].value();
    }
  }

 private:
  std::array<Histogram, request_parts> cycles_;
  std::array<Counter, request_parts> sum_cycles_;
  std::array<Counter, request_parts> requests_;
};

}  // namespace k2k::telemetry
