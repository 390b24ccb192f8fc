#pragma once
// A unit that serves requests itself, between two work-items (Backend::serve_inline).
//
// Requests are served on the stack of the scheduler, because stacks of fibres are small. While the
// server touches a demand-paged region, no work-item is running: the fault is the server's.
//
// Threading: the unit's thread; serves() from anywhere. Not instrumented for ThreadSanitizer
// (sanitizers.hpp).

#include <atomic>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/cpu/fibre/sanitizers.hpp"
#include "backend/cpu/simt/unit_plan.hpp"

namespace k2k::backend::cpu {

class InlineRole {
 public:
  InlineRole(std::uint32_t unit, const UnitPlan& plan) : plan_(plan), unit_(unit) {}

  [[nodiscard]] K2K_ALWAYS_INLINE bool may_serve() const {
    return plan_.inline_service.load(std::memory_order_relaxed) != nullptr;
  }
  // As InlineService::serve(); nothing while the device has no such service.
  InlineService::Found serve(InlineService::Reach reach);
  // At the end of a launch: serves detached requests, for which no work-item waits, and rests.
  void end_launch();
  // As InlineService::rest().
  void rest();

  // Is the thread inside the service?
  [[nodiscard]] K2K_ALWAYS_INLINE bool serves() const {
    return serves_.load(std::memory_order_seq_cst);
  }

 private:
  class Visit;

  const UnitPlan& plan_;
  const std::uint32_t unit_;
  std::atomic<bool> serves_{false};
};

}  // namespace k2k::backend::cpu
