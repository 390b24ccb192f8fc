#pragma once
// Serves page faults of device code: many at once, before all other requests of their bundle.
// Separate threads serve faults that need a disk.
//
//   batch ──▶ faults taken out ──▶ resolved together ──▶ answered
//     │                                └─ page not in the cache ─▶ k2k/fault ──▶ read, answered
//     └──▶ calls, which may get stuck
//
// So no fault waits for a call, and a fault that reads a file waits only for other such faults.
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

  // Moves the faults of `batch` to self.faults. Returns false if there is none.
  static bool take(ServiceThread& self, std::vector<Pending>& batch);
  // Answers self.faults, or queues them for threads that may block. `role` is nullptr if none is
  // held. Returns false if it was taken over meanwhile.
  bool serve(ServiceThread& self, Role* role);

  // Answers faults that wait for a disk with ECANCELED, and ends the threads.
  void stop();

  // More threads would only wait for the same disks.
  static constexpr std::uint32_t threads_max = 4;

 private:
  static void charge(ServiceThread& self, std::uint64_t cycles,
                     std::span<const services::Fault> faults);
  void set_aside(std::span<const services::Fault> faults);  // Faults that would wait.
  bool queue(std::span<const services::Fault> faults);      // False if no thread reads files.
  void run(ServiceThread& self);
  // Takes waiting faults into self.faults; blocks while there is none. Returns true once stop() was
  // called.
  bool take_waiting(ServiceThread& self);

  const Parts parts_;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  RequestQueue waiting_;
  std::uint32_t threads_ = 0;
  std::uint32_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace k2k::server
