#pragma once
// The machinery behind Server: the thread pool, the roles, the queues. Private to this folder.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/govern/adaptive.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/poll/role.hpp"
#include "server/poll/top_half.hpp"
#include "server/pool/descriptor_watch.hpp"
#include "server/pool/fault_desk.hpp"
#include "server/pool/parked.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/system_calls.hpp"
#include "server/pool/thread_pool.hpp"
#include "server/server.hpp"
#include "services/fault.hpp"
#include "services/services.hpp"

namespace k2k::server {

class Server::Core : public std::enable_shared_from_this<Server::Core> {
 public:
  Core(backend::Backend& backend, const ServerConfig& config, std::shared_ptr<router::Files> files);
  ~Core();

  Status start();
  void stop();
  std::vector<DetachedError> drain();
  Status reconfigure(const ServerConfig& config);
  [[nodiscard]] ServerConfig config() const;
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::vector<telemetry::Event> events() const;

 private:
  class SpotReads;
  class OnUnits;
  void work(ServiceThread& self);

  // --- lead.cpp: what the holder of a role does.
  // False: the role is lost or handed off.
  bool lead(ServiceThread& self, Role& role);
  // False: the role is lost or handed off.
  bool serve(ServiceThread& self, Role& role);
  bool walk_bundle(ServiceThread& self, Role& role);  // The same, or what is left of it.
  bool serve_accepted(ServiceThread& self, Role& role);
  bool run_batch(ServiceThread& self, Role& role);       // False: the role was taken over.
  bool settle_waiting(ServiceThread& self, Role& role);  // False: the role was handed off.
  void hand_out(ServiceThread& self, const Bundle& bundle);
  // True if a launch ended it.
  bool rest(ServiceThread& self, const Role& role, Notify notify, std::uint32_t longest_us);
  void place(ServiceThread& self, const Role& role);  // Applies steering.

  // --- inline_service.cpp: where units serve.
  // Looks after a role that units take, until it is not wanted or there is a cap. With the role
  // held, at the beginning and at the end.
  void stand_by(ServiceThread& self, Role& role);
  void look_after(ServiceThread& self, Role& role, bool& held);
  // Waits until no unit holds the role, and holds it. Nothing to do where it is no role of units.
  static void take_from_units(const ServiceThread& self, Role& role);
  // What a unit's thread left behind that is stuck in a call.
  void rescue(ServiceThread& self, Role& role);
  // Units serve from now on, where the configuration says so. False: no memory for their books.
  bool begin_inline();
  void end_inline();
  [[nodiscard]] bool units_serve(const Role& role) const {
    return role.on_units.load(std::memory_order_relaxed) && !admission_.governed() &&
           !admission_.by_tenant();
  }

  // --- parked.cpp: where tenants have budgets, requests of those who used theirs up.
  bool admits(ServiceThread& self, const services::Request& request);
  // False: there is no memory to park it.
  bool park(const ServiceThread& self, Role& role, const Pending& call);
  void park_faults(ServiceThread& self, Role& role);    // Of its batch, those not admitted.
  bool serve_parked(ServiceThread& self, Role& role);   // False as of serve().
  void park_again(const std::vector<Pending>& parked);  // Expects no role held.
  // Sleeps until a parked attempt may be admitted. False: none is parked, or another thread waits.
  bool keep_parked_attempts(ServiceThread& self);

  // --- guard.cpp: when the pool is used up.
  void guard(ServiceThread& self);
  void lead_as_guard(ServiceThread& self, Role& role);

  // --- server.cpp: the rest.
  void run_bundle(ServiceThread& self, const Bundle& bundle);
  // The first part of it: its requests are accepted and, but for faults, in the queue of attempts.
  void accept_bundle(ServiceThread& self, const Bundle& bundle);
  void run_attempts(ServiceThread& self);  // Tries what split bundles left, until none is left.
  // A call that would wait: on its descriptor, with others on one thread; otherwise on a thread of
  // its own.
  void set_aside(const Pending& call);
  // Makes a call that may wait. A unit leaves it to the pool.
  void run_call(ServiceThread& self, Pending call);
  void settle(ServiceThread& self, Role& role, std::uint64_t moment) const;  // Its holder.
  [[nodiscard]] Adaptive::Counted counted(const ServiceThread& self, const Role& role) const;
  void assign_roles();  // Expects no role held.

  // A leader settles its books this often: a look at the thread's CPU clock takes 0.2 us.
  static constexpr std::uint32_t settle_us = 1'000;
  const std::uint64_t settle_cycles_ = cycles_of(settle_us);

  backend::Backend* backend_;
  Answers answers_;
  const std::shared_ptr<router::Files> files_;  // Never null.
  BottomHalf bottom_half_;
  Admission admission_;
  SystemCalls system_calls_;
  ServiceThreads threads_{system_calls_.sleeping()};
  RequestPlaces places_{answers_.area()};
  Roles roles_;
  SplitQueue split_{places_};
  ThreadPool pool_;
  FaultDesk faults_;
  DescriptorWatch descriptors_;

  std::mutex control_;  // One drain, reconfiguration or stop at a time.

  mutable std::mutex mutex_;  // Guards what follows.
  ServerConfig config_;
  std::unique_ptr<OnUnits> on_units_;  // Once units were to serve.
  cpu_set_t home_cores_{};             // Where the process was allowed to run at start.
};

}  // namespace k2k::server
