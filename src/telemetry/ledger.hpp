#pragma once
// Records a service thread's CPU time by stage, call, tenant and core.
//
//   charge()   adds cycles to a stage, and optionally to one call and tenant
//   settle()   corrects the sums by the thread's CPU clock
//
// Cycles are cheap and count everything; a CPU clock costs 0.2 us and excludes the time in which
// the thread did not run. So stages charge cycles, and a thread settles about each millisecond and
// before it sleeps. Cycles in which another thread had the core are subtracted from all stages in
// proportion. CPU time that no stage charged is the cost of going to sleep, waking and watching the
// others: `upkeep`. All of a period's CPU time goes to the calls and tenants served in it, in
// proportion to their charged cycles, or else to `idle`, and to the core on which the period ended.
//
// The sums of stages, of calls and idle, of tenants and idle, and of cores are the same number: the
// CPU clock's. sums() copies all of them as of one moment. Every report also shows an external
// observer's figure: no component grades itself.
//
// Threading: charge(), due() and settle() by the owning thread only; reads from anywhere. sums()
// waits for a settlement under way, which takes less than a microsecond.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "base/units.hpp"
#include "telemetry/mark.hpp"
#include "telemetry/snapshots.hpp"

namespace k2k::telemetry {

// Nanoseconds of CPU time, of one thread or of several.
struct LedgerSums {
  std::array<std::uint64_t, stage_count> stages{};
  std::vector<std::uint64_t> calls;
  std::vector<std::uint64_t> tenants;
  std::vector<std::uint64_t> cores;
  std::uint64_t idle = 0;

  LedgerSums(std::size_t calls_count, std::size_t tenants_count, std::size_t cores_count)
      : calls(calls_count), tenants(tenants_count), cores(cores_count) {}

  [[nodiscard]] std::uint64_t total() const {
    return std::accumulate(stages.begin(), stages.end(), std::uint64_t{0});
  }
  // Expects a ledger with as many calls, tenants and cores.
  LedgerSums& operator+=(const LedgerSums& other) {
    add(stages, other.stages);
    add(calls, other.calls);
    add(tenants, other.tenants);
    add(cores, other.cores);
    idle += other.idle;
    return *this;
  }

 private:
  template <typename Sums>
  static void add(Sums& to, const Sums& from) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
  }
};

class CpuLedger {
 public:
  CpuLedger(std::size_t calls, std::size_t tenants, std::size_t cores)
      : calls_(calls), tenants_(tenants), cores_(cores) {}

  void charge(Stage stage, std::uint64_t cycles) {
    open_stages_[static_cast<std::size_t>(stage)] += cycles;
  }
  // For requests of one call and one tenant. Expects both below the constructor's limits.
  void charge(Stage stage, std::uint64_t cycles, std::size_t call, std::size_t tenant) {
    charge(stage, cycles);
    calls_[call].open += cycles;
    tenants_[tenant].open += cycles;
    open_attributed_ += cycles;
  }
  // One request: its call and its completion together.
  void charge_request(std::uint64_t service, std::uint64_t completion, std::size_t call,
                      std::size_t tenant) {
    charge(Stage::service, service);
    charge(Stage::completion, completion);
    attribute(service + completion, call, tenant);
  }
  // Cycles that a stage has already: adds them to a call and a tenant.
  void attribute(std::uint64_t cycles, std::size_t call, std::size_t tenant) {
    calls_[call].open += cycles;
    tenants_[tenant].open += cycles;
    open_attributed_ += cycles;
  }

  // Returns true if this much time has passed since the last settlement. `moment` and `period` are
  // cycles().
  [[nodiscard]] bool due(std::uint64_t moment, std::uint64_t period) const {
    return moment - settled_at_ >= period;
  }
  // `clock` is the thread's CPU clock, `core` the CPU it runs on.
  void settle(std::uint64_t moment, Nanoseconds clock, double ns_per_cycle, std::size_t core) {
    settled_at_ = moment;
    catch_up(clock, ns_per_cycle, core);
  }
  // The same for a thread that has other work, too: only the charged part of its CPU time counts,
  // less the time in which other threads had the core.
  void settle_part(std::uint64_t moment, Nanoseconds clock, double ns_per_cycle, std::size_t core) {
    const double passed = static_cast<double>(moment - settled_at_) * ns_per_cycle;
    const double ran = static_cast<double>((clock - settled_clock_).count());
    settled_at_ = moment;
    settled_clock_ = clock;
    std::uint64_t charged = 0;
    for (const std::uint64_t cycles : open_stages_) charged += cycles;
    if (charged == 0) return;
    const double part = passed > 0 && ran < passed ? ran / passed : 1;
    record(static_cast<double>(charged) * ns_per_cycle * part, ns_per_cycle, core);
  }
  // Before the first charge() of such a thread.
  void begin_part(std::uint64_t moment, Nanoseconds clock) {
    settled_at_ = moment;
    settled_clock_ = clock;
  }
  // Returns true if a tenant has unsettled cycles.
  [[nodiscard]] bool owed() const { return open_attributed_ != 0; }
  // As settle(), without changing the time of the next one.
  void catch_up(Nanoseconds clock, double ns_per_cycle, std::size_t core) {
    const double used = static_cast<double>((clock - settled_clock_).count());
    settled_clock_ = clock;
    if (used > 0) record(used, ns_per_cycle, core);
  }

  // All sums as of one settlement: none is in one of them and not in another.
  [[nodiscard]] LedgerSums sums() const {
    LedgerSums copy(calls_.size(), tenants_.size(), cores_.size());
    for (;;) {
      const Mark::View before = settling_.view();
      if (!Mark::inside(before)) {
        for (std::size_t k = 0; k < stages_.size(); ++k) copy.stages[k] = stage_ns(k);
        for (std::size_t k = 0; k < calls_.size(); ++k) copy.calls[k] = call_ns(k);
        for (std::size_t k = 0; k < tenants_.size(); ++k) copy.tenants[k] = tenant_ns(k);
        for (std::size_t k = 0; k < cores_.size(); ++k) copy.cores[k] = core_ns(k);
        copy.idle = idle_ns();
        if (settling_.view() == before) return copy;
      }
      std::this_thread::yield();
    }
  }

  // Nanoseconds of CPU time, as of the last settlement.
  [[nodiscard]] std::uint64_t stage_ns(std::size_t stage) const { return stages_[stage].value(); }
  [[nodiscard]] std::uint64_t total_ns() const {
    std::uint64_t total = 0;
    for (const Sum& stage : stages_) total += stage.value();
    return total;
  }
  [[nodiscard]] std::uint64_t call_ns(std::size_t call) const { return calls_[call].ns.value(); }
  [[nodiscard]] std::uint64_t tenant_ns(std::size_t tenant) const {
    return tenants_[tenant].ns.value();
  }
  [[nodiscard]] std::uint64_t core_ns(std::size_t core) const { return cores_[core].value(); }
  [[nodiscard]] std::uint64_t idle_ns() const { return idle_ns_.value(); }

 private:
  // Who reads what a settlement wrote also sees that it has begun: sums() then reads again.
  class Sum {
   public:
    void add(std::uint64_t amount) {
      value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_release);
    }
    [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_acquire); }

   private:
    std::atomic<std::uint64_t> value_{0};
  };

  struct Account {
    Sum ns;
    std::uint64_t open = 0;  // Cycles since the last settlement.

    void settle(double ns_a_cycle) {
      if (open == 0) return;
      ns.add(static_cast<std::uint64_t>(static_cast<double>(open) * ns_a_cycle));
      open = 0;
    }
  };

  void record(double used, double ns_per_cycle, std::size_t core) {
    settling_.begin();
    settle_stages(used, ns_per_cycle);
    if (open_attributed_ == 0) {
      idle_ns_.add(static_cast<std::uint64_t>(used));
    } else {
      const double ns_a_cycle = used / static_cast<double>(open_attributed_);
      for (Account& account : calls_) account.settle(ns_a_cycle);
      for (Account& account : tenants_) account.settle(ns_a_cycle);
      open_attributed_ = 0;
    }
    cores_[core < cores_.size() ? core : cores_.size() - 1].add(static_cast<std::uint64_t>(used));
    settling_.end();
  }

  void settle_stages(double used, double ns_per_cycle) {
    std::uint64_t charged = 0;
    for (const std::uint64_t cycles : open_stages_) charged += cycles;
    const double charged_ns = static_cast<double>(charged) * ns_per_cycle;
    const double part = charged_ns > used ? used / charged_ns : 1;
    double left = used;
    for (std::size_t stage = 0; stage < stage_count; ++stage) {
      const double ns = static_cast<double>(open_stages_[stage]) * ns_per_cycle * part;
      open_stages_[stage] = 0;
      stages_[stage].add(static_cast<std::uint64_t>(ns));
      left -= ns;
    }
    constexpr auto upkeep = static_cast<std::size_t>(Stage::upkeep);
    if (left > 0) stages_[upkeep].add(static_cast<std::uint64_t>(left));
  }

  std::array<std::uint64_t, stage_count> open_stages_{};
  std::uint64_t open_attributed_ = 0;
  std::uint64_t settled_at_ = 0;
  Nanoseconds settled_clock_{};

  Mark settling_;
  std::array<Sum, stage_count> stages_{};
  std::vector<Account> calls_;
  std::vector<Account> tenants_;
  std::vector<Sum> cores_;
  Sum idle_ns_;
};

}  // namespace k2k::telemetry
