#pragma once
// Under a cap: the time that Linux' own threads may have worked for a call, measured around it.
//
// The charge is its upper bound, the time that the caller waited. It is too high if a disk takes
// most of that time, and such calls then become rarer. An exceeded cap would be worse.

#include <algorithm>

#include "base/clock.hpp"
#include "server/account/completion.hpp"
#include "server/govern/admission.hpp"
#include "services/kernel_work.hpp"

namespace k2k::server {

class KernelWork {
 public:
  KernelWork(Admission& admission, const services::Request& request) {
    if (!admission.governed() || !services::has_kernel_threads_work(request)) return;
    admission_ = &admission;
    tenant_ = static_cast<std::uint32_t>(tenant_place(request.attributes));
    begun_ = now();
    cpu_ = thread_time();
  }
  ~KernelWork() {
    if (admission_ == nullptr) return;
    const Nanoseconds waited = (now() - begun_) - (thread_time() - cpu_);
    admission_->charge_kernel_threads(tenant_, std::clamp(waited, Nanoseconds::zero(), charge_max));
  }
  KernelWork(const KernelWork&) = delete;
  KernelWork& operator=(const KernelWork&) = delete;

 private:
  // Without this limit a sync that waits seconds for the disk would delay all other requests for
  // minutes.
  static constexpr Nanoseconds charge_max = std::chrono::milliseconds(100);

  Admission* admission_ = nullptr;  // nullptr: nothing to charge.
  std::uint32_t tenant_ = 0;
  Instant begun_{};
  Nanoseconds cpu_{};  // The thread's clock before the call.
};

}  // namespace k2k::server
