#pragma once
// Where a service thread's CPU time went, in cycles, stage by stage.
//
// The stages are those of a request's life (docs/design/server.md). An outside observer (the
// threads' CPU clocks) stands beside it in every report: no component grades itself.
//
// Threading: charge() by the owning thread only; value reads from anywhere.

#include <array>
#include <cstdint>

#include "telemetry/counter.hpp"

namespace k2k::telemetry {

enum class Stage : std::uint8_t {
  polling,      // Looking for doorbells and finding none; rescans.
  top_half,     // Acknowledging and coalescing.
  bottom_half,  // Reading slots, validating, classifying.
  service,      // The system call itself.
  completion,   // Publishing results and waking.
};
inline constexpr int stage_count = 5;
inline constexpr const char* stage_names[stage_count] = {"polling", "top half", "bottom half",
                                                         "service", "completion"};

class StageLedger {
 public:
  void charge(Stage stage, std::uint64_t cycles) {
    spent_[static_cast<std::size_t>(stage)].add(cycles);
  }
  [[nodiscard]] std::uint64_t spent(Stage stage) const {
    return spent_[static_cast<std::size_t>(stage)].value();
  }

 private:
  std::array<Counter, stage_count> spent_{};
};

}  // namespace k2k::telemetry
