#pragma once
// Where the time of a page fault goes, from the touch to the retried access (thesis, figure 4.6).
//
//   access ─ signal ─▶ handler ─▶ published ─▶ accepted ─▶ page is there ─▶ work-item runs
//                       initialisation  scheduling   processing    completion
//
// The signal itself, and the return from it, is before the first clock and behind the last.
//
// Threading: FaultTimes is written by one thread and read by any.

#include <array>
#include <cstddef>
#include <cstdint>

#include "telemetry/counter.hpp"
#include "telemetry/histogram.hpp"

namespace k2k::telemetry {

enum class FaultPart : std::uint8_t {
  initialisation,  // Handler entered → request published.
  scheduling,      // → a service thread begins with it.
  processing,      // → the page is there.
  completion,      // → the work-item runs again.
  total,
};
inline constexpr std::size_t fault_parts = 5;
inline constexpr const char* fault_part_names[fault_parts] = {"initialisation", "scheduling",
                                                              "processing", "completion", "total"};

struct FaultReport {
  std::array<HistogramSnapshot, fault_parts> cycles;
  std::array<std::uint64_t, fault_parts> sum_cycles{};

  [[nodiscard]] std::uint64_t count() const { return cycles.back().count(); }
};

class FaultTimes {
 public:
  void record(FaultPart part, std::uint64_t cycles) {
    const auto index = static_cast<std::size_t>(part);
    cycles_[index].record(cycles);
    sum_cycles_[index].add(cycles);
  }
  void add_to(FaultReport& report) const {
    for (std::size_t part = 0; part < fault_parts; ++part) {
      cycles_[part].add_to(report.cycles[part]);
      report.sum_cycles[part] += sum_cycles_[part].value();
    }
  }

 private:
  std::array<Histogram, fault_parts> cycles_;
  std::array<Counter, fault_parts> sum_cycles_;
};

}  // namespace k2k::telemetry
