#include "server/server.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "server/account/calibration.hpp"
#include "server/core/core.hpp"
#include "server/core/inline_service.hpp"

namespace k2k::server {

namespace {

Status check_inline(const backend::Backend& backend, const ServerConfig& config) {
  if (config.bottom_half != BottomHalfMode::on_unit || backend.info().serves_inline) return {};
  return Error{ENOTSUP,
               fmt::format("server.bottom_half = \"inline\" needs a device whose units are "
                           "threads of the host: backend = \"cpu\"; this one is {}",
                           backend.info().name)};
}

}  // namespace

Server::Core::Core(backend::Backend& backend, const ServerConfig& config,
                   std::shared_ptr<router::Files> files)
    : backend_(&backend),
      answers_(backend),
      files_(files ? std::move(files) : std::make_shared<router::Files>()),
      bottom_half_(answers_.area(), backend, *files_, answers_.errors()),
      system_calls_(backend, *files_, admission_),
      roles_(backend),
      pool_({backend, admission_, threads_, roles_, split_, places_}),
      faults_({backend, answers_, admission_, threads_, places_, pool_}),
      descriptors_({backend, *files_, answers_, admission_, system_calls_.sleeping(), threads_,
                    places_, pool_}),
      config_(config) {
  backend.set_registered(&files_->registered());
  CPU_ZERO(&home_cores_);
  sched_getaffinity(0, sizeof(home_cores_), &home_cores_);
}

Server::Core::~Core() = default;

Status Server::Core::start() {
  threads_.keep_alive(weak_from_this());
  Descriptor interruption(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Descriptor waits_changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!interruption.open() || !waits_changed.open()) {
    return Error{errno, fmt::format("no eventfd for the server: {}; raise the limit on open files: "
                                    "ulimit -n",
                                    std::strerror(errno))};
  }
  system_calls_.end_waits_by(std::move(interruption));
  descriptors_.wake_by(std::move(waits_changed));
  if (Status status = admission_.configure(config_); !status) return status;
  register_asymmetric_barrier();  // For RoleWord.
  pool_.run(
      {[this](ServiceThread& self) { work(self); }, [this](ServiceThread& self) { guard(self); }});
  assign_roles();
  pool_.resume(config_);
  // One polls, one watches.
  for (int count = 0; count < 2; ++count) {
    if (!pool_.add_worker()) {
      return Error{EAGAIN,
                   "no service thread could be started; raise the limits on processes and "
                   "memory: ulimit -u, ulimit -v"};
    }
  }
  if (!begin_inline()) {
    return Error{ENOMEM,
                 "no memory for the books of units that serve; set server.bottom_half = "
                 "\"monolithic\""};
  }
  backend_->on_abandon([this] {
    descriptors_.look_at_launch();
    system_calls_.end_sleeps_of_launch();
  });
  return {};
}

Adaptive::Counted Server::Core::counted(const ServiceThread& self, const Role& role) const {
  Adaptive::Counted sum;
  if (!role.split) {
    sum.add(self.stats);
    return sum;
  }
  return threads_.counted();
}

void Server::Core::settle(ServiceThread& self, Role& role, std::uint64_t moment) const {
  self.settle(moment);
  if (!role.adaptive.due(moment) || !role.adaptive.look(counted(self, role), moment)) return;
  const governor::CoalesceSetting setting = role.adaptive.setting();
  role.top_half.hold(setting.window_us, setting.max);
}

void Server::Core::set_aside(const Pending& call) {
  if (!descriptors_.take(call)) pool_.queue(call);
}

void Server::Core::run_call(ServiceThread& self, Pending call) {
  if (self.is_unit) {
    set_aside(call);
    return;
  }
  if (call.begun == 0) call.begun = cycles();
  const Nanoseconds before = thread_time();
  const std::int64_t value = system_calls_.wait(self, call);
  // Waiting is not service: only CPU time is charged.
  self.charge(telemetry::Stage::service, cycles_in(thread_time() - before), call.request);
  const std::uint64_t done = cycles();
  answers_.answer_late(self.stats, call.request, value, {call.begun, done});
  self.charge(telemetry::Stage::completion, cycles() - done, call.request);
}

void Server::Core::run_bundle(ServiceThread& self, const Bundle& bundle) {
  accept_bundle(self, bundle);
  if (!self.batch.empty()) run_attempts(self);
}

void Server::Core::accept_bundle(ServiceThread& self, const Bundle& bundle) {
  self.batch.clear();
  self.answered.clear();
  services::Openness openness;
  bool trace;
  {
    const std::lock_guard lock(mutex_);
    openness = config_.policy == CallPolicy::any ? services::Openness::any
                                                 : services::Openness::known_only;
    trace = config_.trace;
  }
  const std::uint64_t processed =
      bottom_half_.process(bundle, {openness, trace, true, admission_.by_tenant()}, self.batch,
                           self.answered, self.stats);
  if (!self.answered.empty()) {
    backend_->resume(self.answered.data(), self.answered.size());
    self.stats.ledger.charge(telemetry::Stage::completion, cycles() - processed);
  }
  // Faults whose tenant has to be asked for wait in the queue of attempts.
  const bool faults = !admission_.by_tenant() && FaultDesk::take(self, self.batch);
  split_.accept(self.batch);
  if (faults) faults_.serve(self, nullptr);
  if (self.batch.empty()) return;
  pool_.begins_calls(split_.attempts_begun);
}

// One at a time: while one of them holds this thread, the watcher finds the others in the queue.
void Server::Core::run_attempts(ServiceThread& self) {
  for (std::uint32_t served = 0;; served = 1) {
    admission_.pass(self.account, served);
    Pending pending;
    while (!split_.take_attempt(pending, [&](const services::Request& request) {
      return !admission_.by_tenant() || admits(self, request);
    })) {
      if (!keep_parked_attempts(self)) return;
    }
    if (services::is_fault(pending.request)) {
      self.faults.assign(1, {pending.request, {}});
      faults_.serve(self, nullptr);
      continue;
    }
    pending.begun = cycles();
    const services::Answer result = system_calls_.attempt(self, pending);
    const std::uint64_t done = cycles();
    system_calls_.note_service(pending.request, 1, done - pending.begun);
    self.charge(telemetry::Stage::service, done - pending.begun, pending.request);
    if (!result.would_wait) {
      answers_.answer_late(self.stats, pending.request, result.value, {pending.begun, done});
      self.charge(telemetry::Stage::completion, cycles() - done, pending.request);
      continue;
    }
    pending.readiness = result.readiness;
    set_aside(pending);
  }
}

// --- Reconfiguration.

void Server::Core::assign_roles() { park_again(roles_.assign(config_)); }

void Server::Core::work(ServiceThread& self) {
  using Task = ThreadPool::Task;
  while (true) {
    const ThreadPool::Work work = pool_.next_work(self);
    switch (work.task) {
      case Task::role:
        // A role of the units comes back: a thread that takes it over only rescues (rescue()).
        while (!lead(self, *work.role) && work.role->on_units.load()) {
        }
        break;
      case Task::rescue:
        rescue(self, *work.role);
        break;
      case Task::attempt:
        run_attempts(self);
        break;
      case Task::bundle:
        run_bundle(self, work.bundle);
        break;
      case Task::call:
        run_call(self, work.call);
        break;
      case Task::end:
        return;
    }
    admission_.leave(self.account);
    self.settle(cycles());
    pool_.finish_work();
  }
}

Status Server::Core::reconfigure(const ServerConfig& config) {
  if (Status status = validate(config, answers_.area().ring_count); !status) return status;
  if (Status status = check_inline(*backend_, config); !status) return status;
  const std::lock_guard control(control_);
  if (Status status = admission_.configure(config); !status) return status;
  ServerConfig wanted = config;  // Here: what is copied below needs memory.
  end_inline();
  admission_.suspend();
  pool_.pause();
  bool assigned = true;
  {
    const std::lock_guard lock(mutex_);
    std::swap(config_, wanted);
    try {
      assign_roles();
    } catch (const std::bad_alloc&) {
      std::swap(config_, wanted);
      assigned = false;
    }
  }
  admission_.resume();
  pool_.resume(config_);
  assigned = begin_inline() && assigned;
  if (assigned) return {};
  return Error{ENOMEM,
               "no memory for another configuration of the server; it keeps the one it had"};
}

ServerConfig Server::Core::config() const {
  const std::lock_guard lock(mutex_);
  return config_;
}

// --- Ends.

std::vector<DetachedError> Server::Core::drain() {
  static_cast<void>(answers_.wait_for_all(Nanoseconds::max()));
  return answers_.errors().take();
}

void Server::Core::stop() {
  using namespace std::chrono_literals;
  const std::lock_guard control(control_);
  const auto grace = std::chrono::milliseconds(config_.shutdown_ms);
  end_inline();
  admission_.suspend();  // What was accepted is not given up for a cap.
  admission_.stop();
  static_cast<void>(answers_.wait_for_all(grace));
  pool_.stop();
  faults_.stop();
  backend_->on_abandon({});
  backend_->set_registered(nullptr);
  system_calls_.end_waits();
  descriptors_.stop();

  const Instant end = now() + std::max<Nanoseconds>(grace, 100ms);
  do {
    backend_->wake_server();
    system_calls_.sleeping().interrupt(true);
  } while (!threads_.wait_ended(1ms) && now() < end);
  // A thread that is still in a call keeps this object alive and finds its role abandoned. A thread
  // between two calls, or with a bundle that it accepts, is waited for: that never takes long.
  pool_.abandon_roles();
  threads_.release();
  answers_.refuse_the_rest();
}

// --- The door.

Result<std::unique_ptr<Server>> Server::start(backend::Backend& backend, const ServerConfig& config,
                                              std::shared_ptr<router::Files> files) {
  if (Status status = validate(config, backend.area().ring_count); !status) return status.error();
  if (Status status = check_inline(backend, config); !status) return status.error();
  auto core = std::make_shared<Core>(backend, config, std::move(files));
  if (Status status = core->start(); !status) {
    core->stop();
    return status.error();
  }
  return std::unique_ptr<Server>(new Server(std::move(core)));
}

Server::Server(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Server::~Server() { core_->stop(); }
std::vector<DetachedError> Server::drain() { return core_->drain(); }
Status Server::reconfigure(const ServerConfig& config) { return core_->reconfigure(config); }
ServerConfig Server::config() const { return core_->config(); }
Stats Server::stats() const { return core_->stats(); }
std::vector<telemetry::Event> Server::events() const { return core_->events(); }

}  // namespace k2k::server
