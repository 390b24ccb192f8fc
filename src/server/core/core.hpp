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
#include "base/descriptor.hpp"
#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/govern/adaptive.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/poll/role.hpp"
#include "server/poll/top_half.hpp"
#include "server/pool/descriptor_waits.hpp"
#include "server/pool/parked.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/system_calls.hpp"
#include "server/server.hpp"
#include "services/fault.hpp"
#include "services/services.hpp"

namespace k2k::server {

// One top half and what its holder works on. Only the holder touches anything but `word`.
struct Role {
  Role(const protocol::AreaView& area, std::uint32_t which) : index(which), top_half(area) {
    bundle.reserve(bundle_requests_max);
    batch.reserve(bundle_requests_max);
    waiting.reserve(bundle_requests_max);
  }

  const std::uint32_t index;
  RoleWord word;
  TopHalf top_half;
  Adaptive adaptive;
  Bundle bundle;
  std::vector<Pending> batch;  // Accepted, in order; [batch_next, end) is still to be executed.
  std::size_t batch_next = 0;
  std::vector<Pending> waiting;               // Tried, and found to wait for a peer.
  std::atomic<std::uint64_t> calls_begun{0};  // Tells the watcher that there is something to watch.
  ParkedRequests parked;                      // Of tenants whose budget is used up.
  services::Openness openness = services::Openness::any;
  bool trace = false;
  bool split = false;                 // Others serve what its holder finds.
  std::atomic<bool> on_units{false};  // Units take it for moments (inline_service.hpp).
  bool walking = false;  // Calls are made while `bundle` is walked through: it is not at its end.
  // Whom the watcher saw holding it at the last tick, and in which call; under Core::mutex_.
  std::pair<std::uint32_t, telemetry::Mark::View> watched;
};

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
  enum class Task : std::uint8_t { role, rescue, attempt, bundle, call, end };
  struct Work {
    Task task = Task::end;
    Role* role = nullptr;
    Bundle bundle;
    Pending call;
  };

  // --- pool.cpp: threads and what they pick.
  using ThreadMain = void (Core::*)(ServiceThread&);
  // False: the system gives no thread, or no memory for one. Expect mutex_ held.
  bool add_thread(ThreadMain main, const char* name, std::uint32_t number = 0);
  bool add_worker();
  void work(ServiceThread& self);
  Work next_work(ServiceThread& self);
  bool pick(ServiceThread& self, Work& work);  // Expects mutex_ held.
  // The watcher's vigil; ends with work, perhaps a role taken over.
  void watch(ServiceThread& self, Work& work, std::unique_lock<std::mutex>& lock);
  bool take_over_stuck(ServiceThread& self, Work& work);  // Expects mutex_ held.
  void wake_watcher();
  [[nodiscard]] bool may_leave_role() const;  // Expects mutex_ held: is there a follower?

  // --- lead.cpp: what the holder of a role does.
  // False: the role is lost or handed off.
  bool lead(ServiceThread& self, Role& role);
  // False: the role is lost or handed off.
  bool serve(ServiceThread& self, Role& role);
  bool walk_bundle(ServiceThread& self, Role& role);  // The same, or what is left of it.
  bool serve_accepted(ServiceThread& self, Role& role);
  bool run_batch(ServiceThread& self, Role& role);       // False: the role was taken over.
  bool settle_waiting(ServiceThread& self, Role& role);  // False: the role was handed off.
  void leave(ServiceThread& self, Role& role);
  void hand_out(ServiceThread& self, const Bundle& bundle);
  [[nodiscard]] bool bundles_wait() const;
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
  void park_faults(ServiceThread& self, Role& role);   // Of its batch, those not admitted.
  bool serve_parked(ServiceThread& self, Role& role);  // False as of serve().
  void gather_parked(std::vector<Pending>& all);       // Expects no role held, and room for all.
  // The next attempt that is admitted, or false.
  bool take_attempt(ServiceThread& self, Pending& attempt);
  // Sleeps until a parked attempt may be admitted. False: none is parked, or another thread waits.
  bool keep_parked_attempts(ServiceThread& self);

  // --- waiting.cpp: calls that would wait.
  void set_aside(const Pending& call);  // Expects mutex_ held.
  void watch_descriptors(ServiceThread& self);
  // Into `waits`, or answered by ENOMEM.
  void take_new_waits(ServiceThread& self, DescriptorWaits& waits, DescriptorWaits::Round& round);
  // False: the host program closed what it is woken by.
  bool wake_descriptor_watch();

  // --- faults.cpp: page faults of device code.
  // Moves the faults of `batch` to self.faults. False if there is none.
  static bool take_faults(ServiceThread& self, std::vector<Pending>& batch);
  // Serves self.faults. `role` is nullptr where none is held. False: it was taken over meanwhile.
  bool serve_faults(ServiceThread& self, Role* role);
  static void charge_faults(ServiceThread& self, telemetry::Stage stage, std::uint64_t cycles,
                            std::span<const services::Fault> faults);
  void set_aside_faults(std::span<const services::Fault> faults);  // Those that would wait.
  void read_faults(ServiceThread& self);

  // --- guard.cpp: when the pool is used up.
  void call_guard();  // Expects mutex_ held.
  void guard(ServiceThread& self);
  void lead_as_guard(ServiceThread& self, Role& role);
  bool relieves_guard(const ServiceThread& self, Role& role);  // Expects mutex_ held.

  // --- server.cpp: the rest.
  void run_bundle(ServiceThread& self, const Bundle& bundle);
  // The first part of it: its requests are accepted and, but for faults, in the queue of attempts.
  void accept_bundle(ServiceThread& self, const Bundle& bundle);
  void run_attempts(ServiceThread& self);  // Tries what split bundles left, until none is left.
  // Makes a call that may wait. A unit leaves it to the pool.
  void run_call(ServiceThread& self, Pending call);
  void settle(ServiceThread& self, Role& role, std::uint64_t moment) const;  // Its holder.
  [[nodiscard]] Adaptive::Counted counted(const ServiceThread& self, const Role& role) const;
  void assign_roles();  // Expects no role held.
  void pause_roles();
  void resume_roles();

  // A leader settles its books this often: a look at the thread's CPU clock takes 0.2 us.
  static constexpr std::uint32_t settle_us = 1'000;
  const std::uint64_t settle_cycles_ = cycles_of(settle_us);

  // Holder of a role whose thread was left behind.
  static constexpr std::uint32_t abandoned_holder = 0xffffff;

  backend::Backend* backend_;
  Answers answers_;
  const std::shared_ptr<router::Files> files_;  // Never null.
  BottomHalf bottom_half_;
  Admission admission_;
  SystemCalls system_calls_;
  ServiceThreads threads_{system_calls_.sleeping()};
  std::vector<protocol::RingConsumer> consumers_;
  std::vector<std::unique_ptr<Role>> roles_;  // One a ring; the first top_halves are in use.

  std::mutex control_;  // One drain, reconfiguration or stop at a time.

  // What leaders look at once a round.
  std::atomic<std::uint32_t> roles_wanted_{0};  // Roles [0, wanted) are to be held; 0 = paused.
  std::atomic<bool> watcher_asleep_{false};
  std::atomic<std::uint64_t> attempts_begun_{0};  // As Role::calls_begun, of split bundles.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable work_there_;
  std::condition_variable role_left_;
  std::condition_variable stand_by_over_;  // For stand_by(): roles_wanted_ is 0.
  ServerConfig config_;
  std::unique_ptr<OnUnits> on_units_;  // Once units were to serve.
  std::uint32_t workers_ = 0;        // Those of the pool: all but the one that watches descriptors.
  std::vector<Role*> vacant_roles_;  // Has room for all.
  std::deque<Bundle> bundles_;
  RequestPlaces places_{answers_.area()};  // Of the queues below.
  RequestQueue attempts_{
      places_};  // Split mode: accepted, not tried yet. Never held by one thread.
  RequestQueue parked_attempts_{places_};  // Of those, the ones not admitted; one thread waits.
  bool parked_attempts_kept_ = false;
  RequestQueue calls_{places_};           // For a thread that may be kept.
  RequestQueue new_waits_{places_};       // For the thread that watches descriptors.
  bool descriptors_watched_ = false;      // That thread was started.
  RequestQueue waiting_faults_{places_};  // For the threads that read files for faults.
  std::condition_variable faults_there_;
  std::uint32_t fault_threads_ = 0;
  std::uint32_t fault_threads_idle_ = 0;
  std::condition_variable guard_wanted_;
  bool guard_started_ = false;
  std::uint32_t processing_ = 0;  // Split bundles that were picked and are being accepted.
  std::uint32_t idle_ = 0;        // Threads in next_work().
  std::uint32_t held_roles_ = 0;
  bool watched_ = false;  // One of the idle threads is the watcher.
  int alert_ticks_ = 0;   // The watcher's ticks since a take-over, counted down.
  bool stopping_ = false;

  cpu_set_t home_cores_{};    // Where the process was allowed to run at start.
  Descriptor waits_changed_;  // eventfd, readable once there is news for watch_descriptors().
};

}  // namespace k2k::server
