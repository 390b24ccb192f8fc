#pragma once
// Decides on which CPU a sleeping thread wakes, and binds it to that CPU no longer than until it
// runs there.
//
//   waking thread                        sleeping thread
//   bind(thread, cpu)                    futex_wait() returns, on that CPU
//   futex_wake()                         end(): it may use its CPUs as before
//
// Threading: bind() while the thread sleeps, before the store that wakes it; end() by the thread
// itself, after the load that sees that store.

#include <pthread.h>
#include <sched.h>

#include <cstddef>

namespace k2k::backend::cpu {

class BriefBinding {
 public:
  // Changes nothing if the thread may not use this CPU, or if Linux refuses.
  void bind(pthread_t thread, int cpu) noexcept {
    const auto index = static_cast<std::size_t>(cpu);
    if (cpu < 0 || ::pthread_getaffinity_np(thread, sizeof(before_), &before_) != 0 ||
        !CPU_ISSET(index, &before_)) {
      return;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(index, &one);
    bound_ = ::pthread_setaffinity_np(thread, sizeof(one), &one) == 0;
  }

  void end() noexcept {
    if (!bound_) return;
    bound_ = false;
    ::sched_setaffinity(0, sizeof(before_), &before_);
  }

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

}  // namespace k2k::backend::cpu
