#include "server/core/core.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "server/account/calibration.hpp"
#include "server/server.hpp"
#include "services/rules/call_rules.hpp"
#include "services/walls/walls.hpp"

namespace k2k::server {

namespace {

Status check_inline(const backend::Backend& backend, const ServerConfig& config) {
  if (config.bottom_half != BottomHalfMode::on_unit || backend.info().serves_inline) return {};
  return Error{ENOTSUP,
               fmt::format("server.bottom_half = \"inline\" needs a device whose units are "
                           "threads of the host: backend = \"cpu\"; this one is {}",
                           backend.info().name)};
}

// The rules of `io` and of files are made at start only.
Status check_policy(const ServerConfig& config, CallPolicy first) {
  const bool changes = config.policy != first;
  if (changes && first == CallPolicy::file) {
    return Error{EINVAL, "server.policy is a file since the start, and stays it"};
  }
  if (changes && config.policy == CallPolicy::file) {
    return Error{EINVAL, "server.policy names a file, which is read at start only"};
  }
  if (changes && (first == CallPolicy::io || config.policy == CallPolicy::io) &&
      config.policy != CallPolicy::known_only) {
    return Error{EINVAL, first == CallPolicy::io
                             ? "server.policy is \"io\" since the start; it can become "
                               "\"known_only\", and \"io\" again"
                             : "server.policy cannot become \"io\" after the start"};
  }
  return {};
}

Status check_walls(const ServerConfig& config, const ServerConfig& before) {
  if (config.walls != before.walls) {
    return Error{EINVAL, "server.walls stays as it was at start: a thread cannot leave its walls"};
  }
  if (config.walls == WallMode::off || config.policy == before.policy) return {};
  return Error{EINVAL,
               "server.policy stays as it was at start: server.walls were built for it, and a "
               "thread cannot leave them"};
}

}  // namespace

Server::Core::Core(backend::Backend& backend, const ServerConfig& config, Provided provided)
    : backend_(&backend),
      files_(provided.files ? std::move(provided.files) : std::make_shared<router::Files>()),
      functions_(provided.functions ? std::move(provided.functions)
                                    : std::make_shared<services::HostFunctions>(backend)),
      rules_(std::move(provided.rules)),
      answers_(backend),
      bottom_half_(answers_.area(), backend, *files_, answers_.errors(), rules_.get()),
      system_calls_(backend, *files_, *functions_, admission_, rules_.get()),
      threads_(system_calls_.sleeping()),
      places_(answers_.area()),
      roles_(backend),
      split_queue_(places_),
      pool_({.backend = backend,
             .admission = admission_,
             .threads = threads_,
             .roles = roles_,
             .split = split_queue_,
             .places = places_}),
      faults_({.backend = backend,
               .answers = answers_,
               .admission = admission_,
               .threads = threads_,
               .places = places_,
               .pool = pool_}),
      descriptors_(set_aside_parts()),
      words_(set_aside_parts()),
      reads_(set_aside_parts()),
      host_desk_(set_aside_parts(), system_calls_, *functions_),
      waiting_(system_calls_, answers_, descriptors_, words_, reads_, host_desk_, pool_),
      service_({.backend = backend,
                .files = *files_,
                .answers = answers_,
                .bottom_half = bottom_half_,
                .admission = admission_,
                .system_calls = system_calls_,
                .threads = threads_,
                .places = places_,
                .pool = pool_,
                .faults = faults_,
                .waiting = waiting_}),
      split_({.backend = backend,
              .answers = answers_,
              .bottom_half = bottom_half_,
              .admission = admission_,
              .system_calls = system_calls_,
              .queue = split_queue_,
              .pool = pool_,
              .faults = faults_,
              .waiting = waiting_,
              .config = config_}),
      leader_({.backend = backend,
               .admission = admission_,
               .roles = roles_,
               .split_queue = split_queue_,
               .pool = pool_,
               .service = service_,
               .split = split_,
               .config = config_}),
      guard_({.backend = backend,
              .bottom_half = bottom_half_,
              .admission = admission_,
              .split_queue = split_queue_,
              .split_service = split_,
              .pool = pool_,
              .faults = faults_,
              .waiting = waiting_,
              .leader = leader_}),
      units_({.backend = backend, .threads = threads_, .roles = roles_, .service = service_}),
      config_(config),
      first_policy_(config.policy) {
  backend.set_registered(&files_->registered());
  if (rules_->memory() == nullptr) return;
  functions_->confine([&backend, files = files_, rules = rules_](
                          std::uint64_t address, std::uint64_t bytes, bool only_read) {
    return rules->memory()->hold(address, bytes, only_read, backend, files->registered());
  });
}

// --- Start, and the work of the pool.

SetAsideParts Server::Core::set_aside_parts() {
  return {.backend = *backend_,
          .files = *files_,
          .answers = answers_,
          .admission = admission_,
          .sleeping = system_calls_.sleeping(),
          .threads = threads_,
          .places = places_,
          .pool = pool_};
}

Status Server::Core::open_events() {
  Descriptor interruption(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Descriptor new_waits(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Descriptor new_reads(::eventfd(0, EFD_CLOEXEC));  // A read of this descriptor waits.
  if (!interruption.open() || !new_waits.open() || !new_reads.open()) {
    return Error{errno, fmt::format("no eventfd for the server: {}; raise the limit on open files: "
                                    "ulimit -n",
                                    std::strerror(errno))};
  }
  system_calls_.end_waits_by(std::move(interruption));
  descriptors_.wake_by(std::move(new_waits));
  reads_.wake_by(std::move(new_reads));
  return {};
}

Status Server::Core::build_walls() {
  if (config_.walls == WallMode::off) return {};
  auto walls = services::Walls::create({.openness = openness_of(config_.policy),
                                        .rules = rules_.get(),
                                        .strict = config_.walls == WallMode::strict});
  if (!walls) return walls.error();
  if (const std::string& missing = walls.value()->missing(); !missing.empty()) {
    std::fprintf(stderr, "k2k: server.walls = \"on\": %s\n", missing.c_str());
  }
  threads_.enclose_in(std::move(walls).value());
  return {};
}

Status Server::Core::start() {
  if (Status status = build_walls(); !status) return status;
  if (Status status = open_events(); !status) return status;
  if (Status status = admission_.configure(config_); !status) return status;
  register_asymmetric_barrier();  // For RoleWord.
  threads_.keep_alive(weak_from_this());
  threads_.record_events(config_.trace);  // There is no thread yet, so it takes no memory.
  pool_.run({.work = [this](ServiceThread& self) { work(self); },
             .guard = [this](ServiceThread& self) { guard_.run(self); }});
  assign_roles();
  pool_.resume(config_);
  // One thread polls, another one watches.
  if (!pool_.add_workers(2)) {
    return Error{EAGAIN,
                 "no service thread could be started; raise the limits on processes and "
                 "memory: ulimit -u, ulimit -v"};
  }
  if (!units_.begin(config_)) {
    return Error{ENOMEM,
                 "no memory for the accounts of units that serve; set server.bottom_half = "
                 "\"monolithic\""};
  }
  backend_->on_abandon([this] {
    descriptors_.look_at_launch();
    words_.look_at_launch();
    host_desk_.abandon();
    system_calls_.end_sleeps_of_launch();
  });
  return {};
}

void Server::Core::work(ServiceThread& self) {
  while (true) {
    const ThreadPool::Work work = pool_.next_work(self);
    if (work.task == ThreadPool::Task::end) return;
    do_work(self, work);
    admission_.leave(self.account);
    self.settle(cycles());
    pool_.finish_work();
  }
}

void Server::Core::do_work(ServiceThread& self, const ThreadPool::Work& work) {
  using Task = ThreadPool::Task;
  switch (work.task) {
    case Task::role:
      // A role of units returns to this thread: a thread that takes it over only rescues requests.
      while (!leader_.lead(self, *work.role) && work.role->on_units.load()) {
      }
      return;
    case Task::rescue:
      return leader_.rescue(self, *work.role);
    case Task::attempt:
      return split_.run_attempts(self);
    case Task::bundle:
      return split_.run_bundle(self, work.bundle);
    case Task::stage:
      return split_.run_stage(self);
    case Task::call:
      return waiting_.run(self, work.call);
    case Task::end:
      return;
  }
}

// --- Reconfiguration.

void Server::Core::assign_roles() {
  for (const Pending& call : roles_.assign(config_)) {
    // Roles and budgets may have changed. If there is no memory to park the call, it is made.
    const std::size_t budget = admission_.budget_of(tenant_of(call.request));
    using Added = ParkedRequests::Added;
    switch (roles_.at(0).parked.add(call, budget, 0)) {
      case Added::parked:
        break;
      case Added::dropped:  // Two roles had parked requests of one slot.
        places_.note_dropped();
        break;
      case Added::no_memory:
        pool_.queue(call);
        break;
    }
  }
}

Status Server::Core::reconfigure(const ServerConfig& config) {
  if (Status status = validate(config, answers_.area().ring_count); !status) return status;
  if (Status status = check_inline(*backend_, config); !status) return status;
  const std::lock_guard control(control_);
  if (Status status = check_policy(config, first_policy_); !status) return status;
  if (config.policy_file != config_.policy_file) {
    return Error{EINVAL, "server.policy names another file; a file is read at start only"};
  }
  if (Status status = check_walls(config, config_); !status) return status;
  if (Status status = admission_.configure(config); !status) return status;
  ServerConfig wanted = config;  // Copied here, since a copy needs memory.
  units_.end();
  admission_.suspend();
  pool_.pause();
  bool assigned = true;
  {
    const std::lock_guard lock(config_lock_);
    std::swap(config_, wanted);
    try {
      threads_.record_events(config_.trace);
      assign_roles();
    } catch (const std::bad_alloc&) {
      std::swap(config_, wanted);
      assigned = false;
    }
  }
  admission_.resume();
  pool_.resume(config_);
  assigned = units_.begin(config_) && assigned;
  if (assigned) return {};
  return Error{ENOMEM,
               "no memory for another configuration of the server; it keeps the one it had"};
}

ServerConfig Server::Core::config() const {
  const std::lock_guard lock(config_lock_);
  return config_;
}

// --- Statistics.

Stats Server::Core::stats() const {
  // Called before the locks are taken: the first call measures.
  const double interrupt_s = std::chrono::duration<double>(calibrated_costs().interrupt).count();
  Stats stats;
  threads_.add_to(stats);
  stats.coalescing_changes = roles_.coalescing_changes();
  stats.interrupt_seconds = static_cast<double>(stats.wakes) * interrupt_s;
  stats.times.merge(backend_->call_report());
  stats.governor = admission_.stats();
  stats.faults = backend_->fault_report();
  stats.detached_errors = answers_.errors().list();
  return stats;
}

std::vector<telemetry::Event> Server::Core::events() const { return threads_.events(); }

// --- Ends.

std::vector<DetachedError> Server::Core::drain() {
  static_cast<void>(answers_.wait_for_all(Nanoseconds::max(),
                                          [this] { return threads_.at_rest(places_.dropped()); }));
  return answers_.errors().take();
}

void Server::Core::stop() {
  using namespace std::chrono_literals;
  const std::lock_guard control(control_);
  const auto grace = std::chrono::milliseconds(config_.shutdown_ms);
  units_.end();
  admission_.suspend();  // No cap may prevent an accepted request from being served.
  admission_.stop();
  static_cast<void>(answers_.wait_for_all(grace));
  pool_.stop();
  faults_.stop();
  host_desk_.stop();
  backend_->on_abandon({});
  backend_->set_registered(nullptr);
  system_calls_.end_waits();
  descriptors_.stop();
  words_.stop();
  reads_.stop();
  const Instant end = now() + std::max<Nanoseconds>(grace, 100ms);
  do {
    backend_->wake_server();
    system_calls_.sleeping().interrupt(true);
  } while (!threads_.wait_ended(1ms) && now() < end);
  // A thread that is still in a call keeps this object alive and finds its role abandoned. Wait for
  // a thread between two calls or while it accepts a bundle: that never takes long.
  pool_.abandon_roles();
  threads_.release();
  answers_.refuse_the_rest();
}

// --- The door.

Result<std::unique_ptr<Server>> Server::start(backend::Backend& backend, const ServerConfig& config,
                                              Provided provided) {
  if (Status status = validate(config, backend.area().ring_count); !status) return status.error();
  if (Status status = check_inline(backend, config); !status) return status.error();
  if ((config.policy == CallPolicy::file) != (provided.rules != nullptr)) {
    return Error{EINVAL, "the rules of a policy belong to a server.policy that is a file"};
  }
  if (config.policy != CallPolicy::file) {
    auto rules = services::CallRules::create(
        config.policy == CallPolicy::io ? services::io_rules() : services::WantedRules{});
    if (!rules) return rules.error();
    provided.rules = std::move(rules).value();
  }
  auto core = std::make_shared<Core>(backend, config, std::move(provided));
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
