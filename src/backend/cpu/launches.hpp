#pragma once
// The launches of a device, one after another.
//
//   launch():  zero the sites ─▶ start units ─▶ wait (watchdog) ─▶ sweep the area ─▶ report
//
// Threading: launch() from anywhere, launches take turns on a lock; cancel() and abandoned() from
// anywhere; the listeners are set while none is in progress.

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "backend/backend.hpp"
#include "backend/cpu/cpu.hpp"
#include "backend/cpu/server_parking.hpp"
#include "backend/cpu/units.hpp"
#include "backend/kernel_image.hpp"
#include "backend/launch.hpp"
#include "base/result.hpp"
#include "device/platform/cpu.hpp"
#include "protocol/area.hpp"

namespace k2k::backend::cpu {

class Launches {
 public:
  // All outlive it. `watchdog` zero: never.
  Launches(Units& units, const DeviceInfo& info, const protocol::AreaView& area,
           ServerParking& parking, Nanoseconds watchdog)
      : units_(units), info_(info), area_(area), parking_(parking), watchdog_(watchdog) {}

  // As the functions of Backend.
  Result<LaunchReport> launch(const KernelImage& kernel, const LaunchShape& shape);
  void cancel() noexcept;
  [[nodiscard]] bool abandoned() const noexcept {
    return units_.launch().stop.load(std::memory_order_acquire) != 0;
  }
  void on_abandon(std::function<void()> listener) { on_abandon_ = std::move(listener); }

  void set_stall_report(StallReport report) { stall_report_ = std::move(report); }

 private:
  [[nodiscard]] Status check(const KernelImage& kernel, const LaunchShape& shape) const;
  void begin(const KernelImage& kernel, const LaunchShape& shape, std::uint32_t units);
  void await_units();
  void report_stall(const std::string& text) const;

  Units& units_;
  const DeviceInfo& info_;
  const protocol::AreaView& area_;
  ServerParking& parking_;
  const Nanoseconds watchdog_;
  device::platform::KernelSite sites_[device::platform::kernel_sites];
  std::mutex launching_;
  StallReport stall_report_;
  std::function<void()> on_abandon_;
};

}  // namespace k2k::backend::cpu
