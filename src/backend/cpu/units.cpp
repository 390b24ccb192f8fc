#include "backend/cpu/units.hpp"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "backend/cpu/fault_signal.hpp"
#include "base/clock.hpp"
#include "base/naps.hpp"
#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::backend::cpu {

namespace {

// The pacing of polling (pollers.hpp). Patience and rest bound the delay that pacing may add to a
// wait.
constexpr std::uint32_t poller_patience_us = 2;
constexpr std::uint32_t poller_scattered_us = 50;
constexpr std::uint32_t poller_rest_us = 4;

// A unit that does not come out of the server meanwhile is stuck in a call, and has lost its role.
constexpr Nanoseconds inline_end_max = std::chrono::seconds(1);

void* unit_thread(void* unit) {
  const OwnThread own;
  const AlternateStack stack;
  static_cast<Unit*>(unit)->thread_main();
  return nullptr;
}

}  // namespace

PrivateLayout::PrivateLayout(const DeviceConfig& config)
    : items(config.resident_waves * config.wave_lanes),
      stack_bytes(FibrePool::bytes_for(items, config.stack_bytes)),
      local_stride(round_up(variables_begin + config.local_bytes, page_bytes)),
      local_bytes(config.resident_groups * local_stride) {}

Units::Units(const DeviceConfig& config, const PrivateLayout& layout, const DeviceMemory& memory,
             ServerParking& parking)
    : layout_(layout), memory_(memory), pid_(getpid()) {
  plan_.config = config;
  plan_.items_max = layout.items;
  plan_.stack_bytes = config.stack_bytes;
  plan_.local_stride = layout.local_stride;
  plan_.spin_cycles = cycles_of(config.spin_us);
  plan_.poller_pace = {cycles_of(poller_patience_us), cycles_of(poller_scattered_us),
                       cycles_of(poller_rest_us)};
  plan_.area = &memory.area();
  plan_.parking = &parking;
}

Units::~Units() {
  if (forked()) return;
  for (std::size_t index = 0; index < threads_.size(); ++index) {
    units_[index]->quit();
    pthread_join(threads_[index], nullptr);
  }
}

bool Units::build() {
  const std::uint32_t count = plan_.config.compute_units;
  for (std::uint32_t index = 0; index < count; ++index) {
    std::byte* const stacks = memory_.private_memory() + index * layout_.bytes();
    std::byte* const local = stacks + layout_.stack_bytes;
    if (::mprotect(local, layout_.local_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    units_.push_back(std::make_unique<Unit>(index, plan_, launch_, memory_, stacks, local));
    if (!units_.back()->usable()) return false;
    unit_pointers_.push_back(units_.back().get());
  }
  launch_.units = unit_pointers_.data();
  launch_.unit_count = count;
  threads_.reserve(count);  // A running thread always has a place.
  return true;
}

bool Units::forked() const { return getpid() != pid_; }

Status Units::start_threads(std::uint32_t count) {
  if (threads_.empty() && !crash_reports_) crash_reports_.emplace();
  while (threads_.size() < count) {
    const auto index = static_cast<std::uint32_t>(threads_.size());
    pthread_t thread{};
    int failed = 0;
    {
      const SignalsBlocked guard({SIGBUS, SIGSEGV, SIGFPE});
      failed = pthread_create(&thread, nullptr, &unit_thread, units_[index].get());
    }
    if (failed != 0) {
      return Error{failed, "no thread for compute unit " + std::to_string(index) +
                               "; lower device.compute_units or raise the limit (ulimit -u)"};
    }
    pthread_setname_np(thread, ("k2k/unit" + std::to_string(index)).c_str());
    threads_.push_back(thread);
  }
  return {};
}

// Linux wakes a thread on an idle core. The launching thread still runs, so the core that it leaves
// in a moment is not idle, and without a core to spare two units would begin on one core. So the
// last unit begins here.
void Units::start(std::uint32_t count) {
  const int here = take_all_cores(count) ? sched_getcpu() : -1;
  std::uint32_t last = 0;
  for (std::uint32_t index = 0; index < count; ++index) {
    if (units_[index]->parked_on() == here) last = index;  // Its caches are here.
  }
  for (std::uint32_t index = 0; index < count; ++index) {
    if (index != last) units_[index]->start_launch();
  }
  units_[last]->start_launch_on(here, threads_[last]);
}

std::uint64_t Units::switches() const {
  std::uint64_t sum = 0;
  for (std::uint32_t unit = 0; unit < launch_.units_used; ++unit) {
    sum += unit_pointers_[unit]->turns().switches();
  }
  return sum;
}

std::uint64_t Units::progress() const {
  std::uint64_t sum = 0;
  for (std::uint32_t unit = 0; unit < launch_.units_used; ++unit) {
    sum += unit_pointers_[unit]->turns().progress();
  }
  return sum;
}

void Units::serve_inline(InlineService* service) {
  // Pairs with InlineRole::serve().
  plan_.inline_service.store(service, std::memory_order_seq_cst);
  if (service != nullptr) return;
  Naps naps(std::chrono::microseconds(10), std::chrono::milliseconds(1));
  const Instant end = now() + inline_end_max;
  for (const Unit* const unit : unit_pointers_) {
    while (unit->serves() && now() < end) naps.take();
  }
}

Status Units::prepare_faults() {
  const std::size_t least = round_up(fault_stack_bytes(), page_bytes);
  if (plan_.stack_bytes < least) {
    return Error{EINVAL, "device.stack_bytes is " + std::to_string(plan_.stack_bytes) +
                             "; a work-item that touches a demand-paged region needs " +
                             std::to_string(least) +
                             " for the signal frame and the request of a fault"};
  }
  const std::lock_guard lock(faults_);  // Not the lock of launches: a kernel may be running.
  if (fault_times_ != nullptr) return {};
  fault_times_ = std::make_unique<telemetry::RequestTimes[]>(plan_.config.compute_units);
  plan_.fault_times.store(fault_times_.get(), std::memory_order_release);
  return {};
}

telemetry::RequestReport Units::fault_report() const {
  telemetry::RequestReport report;
  const telemetry::RequestTimes* const times = plan_.fault_times.load(std::memory_order_acquire);
  for (std::uint32_t unit = 0; times != nullptr && unit < plan_.config.compute_units; ++unit) {
    times[unit].add_to(report);
  }
  return report;
}

telemetry::RequestReport Units::call_report() const {
  telemetry::RequestReport report;
  for (const Unit* const unit : unit_pointers_) unit->call_times().add_to(report);
  return report;
}

}  // namespace k2k::backend::cpu
