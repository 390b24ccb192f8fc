#pragma once
// Page faults of device code: many at once, before all other requests of their bundle; a fault that
// needs a disk on a thread for such faults.
//
//   batch ──▶ faults taken out ──▶ resolved together ──▶ answered
//     │                                └─ page not in the cache ─▶ k2k/fault ──▶ read, answered
//     └──▶ calls, which may get stuck
//
// So no fault waits behind a call, and a fault that reads a file waits behind other such faults
// only.
//
// Threading: from anywhere, a ServiceThread by itself; one lock. Lock order: this lock, then
// ServiceThreads.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "backend/demand_pages.hpp"
#include "server/account/answers.hpp"
#include "server/govern/admission.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/thread_pool.hpp"
#include "services/fault.hpp"

namespace k2k::server {

class FaultDesk {
 public:
  using Resolve = std::size_t (*)(std::span<services::Fault> faults, backend::Reading reading);
  struct Parts {
    backend::Backend& backend;
    Answers& answers;
    Admission& admission;
    ServiceThreads& threads;
    RequestPlaces& places;
    ThreadPool& pool;
    Resolve resolve = services::resolve;
  };
  explicit FaultDesk(const Parts& parts) : parts_(parts), waiting_(parts.places) {}
  FaultDesk(const FaultDesk&) = delete;
  FaultDesk& operator=(const FaultDesk&) = delete;

  // Moves the faults of `batch` to self.faults. False if there is none.
  static bool take(ServiceThread& self, std::vector<Pending>& batch);
  // Answers self.faults, or leaves them to threads that may be kept. `role` is nullptr where none
  // is held. False: it was taken over meanwhile.
  bool serve(ServiceThread& self, Role* role);

  // Faults that wait for a disk are answered with ECANCELED, and the threads end.
  void stop();

  // Further threads would only wait for the same disks.
  static constexpr std::uint32_t threads_max = 4;

 private:
  static void charge(ServiceThread& self, std::uint64_t cycles,
                     std::span<const services::Fault> faults);
  void set_aside(std::span<const services::Fault> faults);  // The ones that would wait.
  bool queue(std::span<const services::Fault> faults);      // False: no thread reads files.
  void run(ServiceThread& self);
  // Takes waiting faults into self.faults, blocks while there is none. True once stop() was called.
  bool take_waiting(ServiceThread& self);

  const Parts parts_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  RequestQueue waiting_;
  std::uint32_t threads_ = 0;
  std::uint32_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace k2k::server
