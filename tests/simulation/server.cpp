#include "tests/simulation/server.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "calls/rows.hpp"
#include "server/account/completion.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/poll/role.hpp"
#include "server/poll/top_half.hpp"
#include "server/pool/stage.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/rules/call_rules.hpp"
#include "services/rules/part_copies.hpp"
#include "tests/simulation/hooks.hpp"
#include "tests/simulation/world.hpp"

// Passed to the services. The simulation's own services do not use it.
namespace k2k::router {
class Files {};
}  // namespace k2k::router

namespace k2k::simulation {

namespace {

using server::Pending;
using server::RolePhase;

constexpr std::uint32_t threads_max = 6;
constexpr std::uint32_t abandoned_holder = 0xffffff;
constexpr std::uint32_t grace_naps = 20;

struct Role {
  Role(const protocol::AreaView& area, std::uint32_t which) : index(which), top_half(area) {}
  std::uint32_t index;
  server::RoleWord word;
  server::TopHalf top_half;
  server::Bundle bundle;
  std::vector<Pending> batch;
  std::size_t batch_next = 0;
  std::vector<Pending> waiting;
  std::pair<std::uint32_t, telemetry::Mark::View> watched;
  bool vacant = true;
};

struct Thread {
  std::uint32_t index = 0;  // From 1.
  telemetry::Mark call;
  bool ended = false;
  std::vector<std::uint32_t> answered;
  std::vector<Pending> batch;
};

struct Server {
  explicit Server(const protocol::AreaView& area, const backend::Backend& backend)
      : bottom_half(area, backend, files, detached_errors) {}
  router::Files files;
  server::DetachedErrors detached_errors;
  server::BottomHalf bottom_half;
  std::array<protocol::RingConsumer, rings_max> consumers;
  std::array<std::optional<Role>, rings_max> roles;
  std::array<Thread, threads_max> threads;
  std::uint32_t roles_wanted = 0;
  std::deque<server::Bundle> bundles;
  server::Stage stage;
  std::deque<Pending> attempts;
  std::deque<Pending> calls;
  std::uint32_t processing = 0;
  std::uint32_t idle = 0;
  bool taking = false;     // A thread is taking a role over.
  bool answering = false;  // A thread holds the lock of late answers.
  bool stopping = false;
  bool abandoned = false;
  bool stopped = false;
  std::uint32_t news = 0;  // Counts events that idle threads must notice.
};

World& all = world();
std::optional<Server> host;
// 190 KB of histograms, shared by all schedules. No test reads them.
const std::unique_ptr<server::ThreadStats> stats = std::make_unique<server::ThreadStats>();

backend::Backend& backend_of_all() {
  static services::FakeBackend fake;
  return fake;
}

// --- Answers.

void resume(std::uint32_t row) {
  if (row >= all.scenario.rows) return;
  // A backend's resume() ensures that a halted lane sees all earlier stores.
  if (all.halted[row] != 0) all.bus.flush(protocol::Side::host);
  ++all.resumed[row];
}

void answer(const services::Request& request, std::int64_t value, protocol::TransportError error) {
  const bool detached = (request.attributes.flags & protocol::flag::detached) != 0;
  if (all.scenario.bug == Bug::result_after_finished && !detached) {
    protocol::Slot& slot = all.host_area.slot(request.wave, request.lane);
    protocol::move<protocol::SlotState::processing, protocol::SlotState::finished,
                   protocol::Side::host>(slot, request.number, error);
    slot.arguments[0] = static_cast<std::uint64_t>(value);
  } else {
    const std::uint64_t moment = cycles();
    complete(all.host_area, request, value, error, {moment, moment}, *stats, host->detached_errors);
    stats->shares.clear();
  }
  resume(request.wave);
}

void answer_late(const services::Request& request, std::int64_t value) {
  while (host->answering) nap(1);
  host->answering = true;
  if (!host->abandoned || all.scenario.bug == Bug::answer_after_end) {
    answer(request, value, protocol::TransportError::none);
  }
  host->answering = false;
}

void run_call(Pending call) {
  answer_late(call.request,
              services::execute_waiting(call.request, call.progress, {}, host->files));
}

// --- The holder of a role: server/core/role_service.cpp and leader.cpp.

bool run_batch(Thread& self, Role& role) {
  while (role.batch_next < role.batch.size()) {
    Pending pending = role.batch[role.batch_next++];
    self.call.begin();
    step();
    const services::Answer result =
        services::execute_without_waiting(pending.request, pending.progress, host->files);
    self.call.end();
    if (!role.word.still_held_by(self.index)) {
      if (result.would_wait) {
        run_call(pending);
      } else {
        answer_late(pending.request, result.value);
      }
      return false;
    }
    if (result.would_wait) {
      role.waiting.push_back(pending);
    } else {
      answer(pending.request, result.value, protocol::TransportError::none);
    }
  }
  return true;
}

bool settle_waiting(Thread& self, Role& role) {
  if (role.waiting.empty()) return true;
  host->calls.insert(host->calls.end(), role.waiting.begin(), role.waiting.end());
  role.waiting.clear();
  ++host->news;
  if (host->idle <= 1) return true;
  const Pending first = host->calls.back();
  host->calls.pop_back();
  role.word.vacate(self.index);
  role.vacant = true;
  run_call(first);
  return false;
}

bool serve(Thread& self, Role& role) {
  role.batch.clear();
  role.batch_next = 0;
  self.answered.clear();
  host->bottom_half.process(role.bundle, {services::Openness::any, false, false}, role.batch,
                            self.answered, *stats);
  for (const std::uint32_t row : self.answered) resume(row);
  return run_batch(self, role) && settle_waiting(self, role);
}

void lead(Thread& self, Role& role) {
  if (!run_batch(self, role) || !settle_waiting(self, role)) return;
  while (host->roles_wanted > role.index) {
    role.bundle.clear();
    if (!role.top_half.collect(role.bundle, *stats)) {
      const bool due = all.scenario.rescan && clock() >= role.top_half.rescan_due();
      if (!due || !host->bundles.empty() ||
          role.top_half.rescan(role.bundle, *stats, clock()) == 0) {
        // Polling continues and finds nothing until a store arrives.
        const std::uint64_t due_in =
            role.top_half.rescan_due() - std::min(clock(), role.top_half.rescan_due());
        nap(all.scenario.rescan ? 4 + static_cast<std::uint32_t>(due_in) : 64,
            all.bus.arrivals(protocol::Side::host));
        continue;
      }
    }
    if (all.scenario.split) {
      host->bundles.push_back(role.bundle);
      host->stage.move(server::StageEvent::ring);
      ++host->news;
    } else if (!serve(self, role)) {
      return;
    }
  }
  role.word.vacate(self.index);
}

// --- The pool: server/pool/thread_pool.cpp.

void run_attempts() {
  while (!host->attempts.empty()) {
    Pending pending = host->attempts.front();
    host->attempts.pop_front();
    const services::Answer result =
        services::execute_without_waiting(pending.request, pending.progress, host->files);
    if (result.would_wait) {
      host->calls.push_back(pending);
      ++host->news;
    } else {
      answer_late(pending.request, result.value);
    }
  }
}

void accept_bundle(Thread& self) {
  const server::Bundle bundle = std::move(host->bundles.front());
  host->bundles.pop_front();
  self.batch.clear();
  self.answered.clear();
  ++host->processing;
  const bool shared = all.scenario.bug != Bug::accepted_twice;
  host->bottom_half.process(bundle, {services::Openness::any, false, shared}, self.batch,
                            self.answered, *stats);
  for (const std::uint32_t row : self.answered) resume(row);
  --host->processing;
  host->attempts.insert(host->attempts.end(), self.batch.begin(), self.batch.end());
  ++host->news;
}

// A staged bottom half: pre-processes all bundles that wait, then rests until it is rung.
void run_stage(Thread& self) {
  using server::StageEvent;
  using server::StagePhase;
  while (true) {
    if (host->stage.phase() == StagePhase::rung) host->stage.move(StageEvent::wake);
    while (!host->bundles.empty()) accept_bundle(self);
    if (all.scenario.bug == Bug::stage_looks_before_it_rests) nap(1);
    host->stage.move(StageEvent::idle);
    if (host->stage.phase() == StagePhase::off) return;
    while (host->stage.phase() == StagePhase::resting) {
      nap(16 + all.random.below(64), host->news);
    }
  }
}

Role* vacant_role() {
  for (std::optional<Role>& role : host->roles) {
    if (role && role->vacant && role->index < host->roles_wanted) return &*role;
  }
  return nullptr;
}

// Takes the role from a thread with a long call, if possible.
Role* take_over_stuck(const Thread& self) {
  if (host->taking) return nullptr;
  for (std::optional<Role>& role : host->roles) {
    if (!role) continue;
    const server::RoleWord::View view = role->word.view();
    if (view.phase == RolePhase::vacant) continue;
    const telemetry::Mark& mark = host->threads[view.holder - 1].call;
    const std::pair seen{view.holder, mark.view()};
    if (std::exchange(role->watched, seen) != seen) continue;
    host->taking = true;
    const bool taken = role->word.take_over(view.holder, mark, seen.second, self.index);
    host->taking = false;
    if (taken) return &*role;
  }
  return nullptr;
}

void work(Thread& self) {
  while (true) {
    ++host->idle;
    Role* role = nullptr;
    while (true) {
      role = vacant_role();
      if (role != nullptr || !host->attempts.empty()) break;
      if (host->stage.phase() == server::StagePhase::vacant) break;
      if (!host->bundles.empty() && !host->stage.has_thread()) break;
      if (!host->calls.empty() && (host->idle > 1 || host->stopping)) break;
      if (host->stopping) break;
      if ((role = take_over_stuck(self)) != nullptr) break;
      nap(16 + all.random.below(64), host->news);
    }
    --host->idle;
    if (role != nullptr) {
      if (std::exchange(role->vacant, false)) K2K_EXPECT(role->word.take(self.index));
      lead(self, *role);
    } else if (host->stage.phase() == server::StagePhase::vacant) {
      host->stage.move(server::StageEvent::take);
      run_stage(self);
    } else if (!host->attempts.empty()) {
      run_attempts();
    } else if (!host->bundles.empty() && !host->stage.has_thread()) {
      accept_bundle(self);
      run_attempts();
    } else if (!host->calls.empty()) {
      const Pending call = host->calls.front();
      host->calls.pop_front();
      run_call(call);
    } else {
      break;
    }
  }
  self.ended = true;
}

bool anything_unanswered() {
  for (std::uint32_t row = 0; row < all.scenario.rows; ++row) {
    for (std::uint32_t lane = 0; lane < all.scenario.lanes; ++lane) {
      const protocol::SlotState state = observe(all.host_area.slot(row, lane)).state;
      if (owner_of(state) == protocol::Side::host) return true;
    }
  }
  return false;
}

void refuse_the_rest() {
  using protocol::SlotState;
  while (host->answering) nap(1);
  host->answering = true;
  host->abandoned = true;
  protocol::store_release(all.host_area.closed, 1u);
  for (std::uint32_t row = 0; row < all.scenario.rows; ++row) {
    for (std::uint32_t lane = 0; lane < all.scenario.lanes; ++lane) {
      protocol::Slot& slot = all.host_area.slot(row, lane);
      const protocol::Control control = observe(slot);
      if (owner_of(control.state) != protocol::Side::host) continue;
      if (control.state == SlotState::ready) {
        protocol::move<SlotState::ready, SlotState::processing, protocol::Side::host>(
            slot, control.number);
      }
      services::Request request;
      request.wave = row;
      request.lane = static_cast<std::uint8_t>(lane);
      request.number = control.number;
      request.attributes = protocol::unpack_attributes(slot.attributes);
      complete(all.host_area, request, -ECANCELED, protocol::TransportError::shutdown, {}, *stats,
               host->detached_errors);
      stats->shares.clear();
    }
    resume(row);
  }
  host->answering = false;
}

// A call takes some time, or never ends.
void linger() {
  if (all.scenario.death != 0 && all.random.one_in(all.scenario.death)) all.agents.leave();
  if (all.scenario.stall_max == 0) return;
  nap(all.random.below(all.scenario.stall_max));
}

}  // namespace

void start_server() {
  host.emplace(all.host_area, backend_of_all());
  server::ServerConfig config;
  config.coalesce_window_us = all.scenario.window;
  config.coalesce_max = 1 + all.random.below(4);
  config.rescan_us = 20 + all.random.below(200);
  const std::uint32_t halves = all.scenario.top_halves;
  for (std::uint32_t ring = 0; ring < all.scenario.rings; ++ring) {
    host->consumers[ring] = protocol::RingConsumer(all.host_area.rings[ring]);
  }
  for (std::uint32_t index = 0; index < halves; ++index) {
    Role& role = host->roles[index].emplace(all.host_area, index);
    std::vector<protocol::RingConsumer*> rings;
    for (std::uint32_t ring = index; ring < all.scenario.rings; ring += halves) {
      rings.push_back(&host->consumers[ring]);
    }
    role.top_half.assign(std::move(rings), index, halves);
    role.top_half.configure(config);
  }
  host->roles_wanted = halves;
  if (all.scenario.staged) host->stage.move(server::StageEvent::open);
  for (std::uint32_t index = 0; index < all.scenario.threads; ++index) {
    Thread& thread = host->threads[index];
    thread.index = index + 1;
    all.agents.add(protocol::Side::host, [&thread] { work(thread); });
  }
}

void drain() {
  while (anything_unanswered()) nap(16);
}

void stop() {
  for (std::uint32_t left = grace_naps; left != 0 && anything_unanswered(); --left) nap(8);
  host->roles_wanted = 0;
  host->stopping = true;
  host->stage.move(server::StageEvent::close);
  ++host->news;
  const auto all_ended = [] {
    for (std::uint32_t index = 0; index < all.scenario.threads; ++index) {
      if (!host->threads[index].ended) return false;
    }
    return true;
  };
  for (std::uint32_t left = grace_naps; left != 0 && !all_ended(); --left) nap(8);
  for (std::optional<Role>& role : host->roles) {
    while (role) {
      const server::RoleWord::View view = role->word.view();
      if (view.phase == RolePhase::vacant) break;
      const telemetry::Mark& mark = host->threads[view.holder - 1].call;
      bool taken = false;
      if (!host->taking) {
        host->taking = true;
        taken = role->word.take_over(view.holder, mark, mark.view(), abandoned_holder);
        host->taking = false;
      }
      if (taken) break;
      nap(1);
    }
  }
  while (host->processing != 0) nap(1);
  refuse_the_rest();
  host->stopped = true;
}

bool stopped() { return host->stopped; }
void forget_server() { host.reset(); }

}  // namespace k2k::simulation

// --- The system calls, and the operating system's functions for waiting that the shipped code
// calls.

namespace k2k::services {

using simulation::all;

// Each request is judged by its arguments, which name it. No argument is a pointer.
Admission admission_of(std::uint16_t, std::int16_t, Openness, bool) {
  return {.by_arguments = true};
}
std::int64_t admit_arguments(const Request& request, const backend::Backend&) {
  return all.requests.admit(request);
}
std::uint64_t reach_of(const calls::Shape&, std::size_t, const Request&) { std::abort(); }
std::int64_t admit_hidden(const Request&, const void*, std::uint64_t, const router::Files&) {
  std::abort();
}

// There is no policy file.
std::int64_t CallRules::judge(const Request&) { return 0; }
std::int64_t CallRules::judge_memory(const Request&, const backend::Backend&, const Ranges&) {
  return 0;
}
void CallRules::refused(const Request&, std::int64_t) {}
std::int64_t PartCopies::make_call(const Request&,
                                   const std::function<std::int64_t(const Request&)>&) const {
  std::abort();
}

Answer execute_without_waiting(const Request& request, Progress&, router::Files&) {
  if (request.row < 0) return {0, true, {}};
  const calls::Blocking blocking = calls::rows[request.row].blocking;
  if (blocking == calls::Blocking::never) return {all.requests.execute(request), false, {}};
  if (blocking == calls::Blocking::waits && all.random.one_in(2)) return {0, true, {}};
  simulation::linger();
  const std::int64_t value = all.requests.execute(request);
  simulation::linger();
  return {value, false, {}};
}

std::int64_t execute_waiting(const Request& request, Progress&, Interruption, router::Files&) {
  simulation::linger();
  const std::int64_t value = all.requests.execute(request);
  simulation::linger();
  return value;
}

}  // namespace k2k::services

// The shipped code waits by sched_yield() for a row from which another thread accepts, and by
// nanosleep() for a call in flight when a launch ends. Outside of fibres these are the system's.
extern "C" int sched_yield() noexcept {
  if (k2k::simulation::world().agents.running() == nullptr) {
    return static_cast<int>(syscall(SYS_sched_yield));
  }
  k2k::simulation::nap(1);
  return 0;
}
extern "C" int nanosleep(const timespec* time, timespec* left) {
  if (k2k::simulation::world().agents.running() == nullptr) {
    return static_cast<int>(syscall(SYS_nanosleep, time, left));
  }
  k2k::simulation::nap(16);
  return 0;
}
