#pragma once
// Starts and joins the service threads of a server, and sums their statistics.
//
// Every thread keeps the owner of this object alive until the thread ends, so a thread that stop()
// abandons in a system call still has its memory when it returns.
//
// Threading: from anywhere; one lock, below the locks of all other objects of the server. A
// ServiceThread stays at its address as long as this object lives.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "server/account/stats.hpp"
#include "server/govern/adaptive.hpp"
#include "server/pool/service_thread.hpp"
#include "server/waits/sleeping_calls.hpp"
#include "telemetry/event_ring.hpp"
#include "telemetry/mark.hpp"

namespace k2k::services {
class Walls;
}

namespace k2k::server {

class ServiceThreads {
 public:
  using Main = std::function<void(ServiceThread&)>;

  // `sleeping` may interrupt the threads and must outlive them.
  explicit ServiceThreads(SleepingCalls& sleeping) : sleeping_(&sleeping) {}
  ServiceThreads(const ServiceThreads&) = delete;
  ServiceThreads& operator=(const ServiceThreads&) = delete;

  // Each thread started from now on keeps `owner` alive.
  void keep_alive(std::weak_ptr<void> owner) { owner_ = std::move(owner); }

  // From now on each thread that is started is behind these walls before it serves.
  void enclose_in(std::shared_ptr<const services::Walls> walls) { walls_ = std::move(walls); }

  // Whether all threads record events (telemetry/event_ring.hpp) from now on. Throws
  // std::bad_alloc; some may then record and others not.
  void record_events(bool on);

  // Starts a thread; `name` is a format for `number`. False: the system gives no thread, or no
  // memory for one or for its walls, or release() was called.
  bool add(const Main& main, const char* name, std::uint32_t number = 0);
  // The statistics of a unit, whose thread belongs to the device. Throws std::bad_alloc.
  ServiceThread& add_unit();

  // The thread with this index.
  [[nodiscard]] const ServiceThread& at(std::uint32_t index) const;
  // The mark of the thread with this index: set while it is in a call and holds a role.
  [[nodiscard]] const telemetry::Mark& call_of(std::uint32_t index) const { return at(index).call; }
  // The number of calls that all threads have begun while they held a role.
  [[nodiscard]] std::uint64_t calls_of_roles() const;
  // The sum over all threads.
  [[nodiscard]] Adaptive::Counted counted() const;
  // A number if no thread is in a call or counts, and every accepted request but `dropped` of them
  // is answered. The number grows with every call and every count.
  [[nodiscard]] std::optional<std::uint64_t> at_rest(std::uint64_t dropped) const;

  // Returns true once all threads have ended, or false after `longest`.
  bool wait_ended(Nanoseconds longest);
  // Joins the threads that have ended and abandons the others. add() fails from then on.
  void release();

  // Adds the counts of all threads.
  void add_to(Stats& stats) const;
  // The events of all threads, oldest first.
  [[nodiscard]] std::vector<telemetry::Event> events() const;

 private:
  using Threads = std::vector<std::unique_ptr<ServiceThread>>;

  void run(ServiceThread& self, const Main& main, const char* name, std::uint32_t number);
  // On the thread itself: false if it must not serve.
  [[nodiscard]] bool enter_walls(ServiceThread& self) const;
  // Expects mutex_ held. Throws std::bad_alloc, and adds nothing then.
  ServiceThread& add_thread();

  SleepingCalls* sleeping_;
  std::weak_ptr<void> owner_;
  std::shared_ptr<const services::Walls> walls_;  // Null: none. Set before there are threads.
  mutable std::mutex mutex_;                      // Guards the members below.
  std::condition_variable ended_;
  Threads threads_;
  bool released_ = false;
  bool records_events_ = false;
};

}  // namespace k2k::server
