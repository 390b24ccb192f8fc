#include "cli/watch/report.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

namespace k2k::watch {

namespace {

using Owners = std::map<unsigned, InterruptOwner>;

Place place_of_rule(const Rule& rule) { return {rule.part, rule.kind, {}, {}}; }

// An interrupt's place: by its actions, then by its driver.
Place place_of_interrupt(const std::string& id, const Rules& rules, const Owners& owners) {
  const auto number = number_of(id);
  const auto owner = number ? owners.find(static_cast<unsigned>(*number)) : owners.end();
  const Rule* rule = nullptr;
  Place place{"other", "interrupts", {}, {}};
  if (owner == owners.end()) {
    rule = rules.find(Where::interrupt, id);
  } else {
    rule = rules.find(Where::driver, owner->second.driver);
    for (const std::string& action : owner->second.actions) {
      if (rule == nullptr) rule = rules.find(Where::interrupt, action);
    }
    place.device = owner->second.device;
    place.driver = owner->second.driver;
    if (!place.driver.empty()) place.part = place.driver;
  }
  if (rule != nullptr) {
    place.part = rule->part;
    place.kind = rule->kind;
  }
  return place;
}

std::string name_of_interrupt(const CountedLine& line, const Owners& owners) {
  const auto number = number_of(line.id);
  const auto owner = number ? owners.find(static_cast<unsigned>(*number)) : owners.end();
  if (owner == owners.end() || owner->second.actions.empty()) return line.id;
  std::string name;
  for (const std::string& action : owner->second.actions) {
    name += (name.empty() ? "" : ",") + action;
  }
  return name;
}

// Rows by their names: equal rows are added.
class Rows {
 public:
  Row& row(const Place& place, const char* source, const std::string& name) {
    Row& row = rows_[{place.part, source, name, place.device}];
    row.part = place.part;
    row.kind = place.kind;
    row.device = place.device;
    row.driver = place.driver;
    row.source = source;
    row.name = name;
    return row;
  }
  [[nodiscard]] std::vector<Row> sorted() {
    std::vector<Row> list;
    for (auto& [key, row] : rows_) {
      if (row.cpu_s > 0 || row.count.value_or(0) > 0) list.push_back(std::move(row));
    }
    std::stable_sort(list.begin(), list.end(), [](const Row& one, const Row& other) {
      return std::tuple(one.cpu_s, one.count.value_or(0)) >
             std::tuple(other.cpu_s, other.count.value_or(0));
    });
    if (list.size() > rows_max) list.resize(rows_max);
    return list;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Row> rows_;
};

void add(Row& row, int core, double cpu_s) {
  row.cpu_s += cpu_s;
  if (cpu_s > 0) row.by_core[core] += cpu_s;
}

// The lines' counts between two snapshots, by line and core, and the cores' sums.
struct Counts {
  std::vector<std::pair<const CountedLine*, std::map<int, std::uint64_t>>> lines;
  std::map<int, double> of_core;
};

Counts counts_between(const std::vector<CountedLine>& before,
                      const std::vector<CountedLine>& after) {
  std::map<std::string, const CountedLine*> earlier;
  for (const CountedLine& line : before) earlier[line.id] = &line;
  Counts counts;
  for (const CountedLine& line : after) {
    const auto known = earlier.find(line.id);
    std::map<int, std::uint64_t> passed;
    for (const auto& [core, count] : line.by_core) {
      std::uint64_t then = 0;
      if (known != earlier.end()) {
        const auto found = known->second->by_core.find(core);
        if (found != known->second->by_core.end()) then = found->second;
      }
      // A smaller count than before: another device has the number now, or a counter of 32 bits
      // began again. Nothing is known about this interval.
      if (count <= then) continue;
      passed[core] = count - then;
      counts.of_core[core] += static_cast<double>(count - then);
    }
    if (!passed.empty()) counts.lines.emplace_back(&line, std::move(passed));
  }
  return counts;
}

std::map<int, double> field_of(const Times& times, double CoreTimes::* field) {
  std::map<int, double> by_core;
  for (const auto& [core, time] : times) by_core[core] = time.*field;
  return by_core;
}

// Divides each core's time over the lines by their counts there.
void divide(const Counts& counts, const std::map<int, double>& core_s, const char* source,
            const std::function<Place(const CountedLine&)>& place,
            const std::function<std::string(const CountedLine&)>& name, Rows& rows) {
  for (const auto& [line, passed] : counts.lines) {
    Row& row = rows.row(place(*line), source, name(*line));
    row.estimated = true;
    for (const auto& [core, count] : passed) {
      row.count = row.count.value_or(0) + count;
      const auto time = core_s.find(core);
      if (time == core_s.end()) continue;
      add(row, core, time->second * static_cast<double>(count) / counts.of_core.at(core));
    }
  }
}

// What passed of a thread's sum; a new thread counts whole.
double passed_s(const ThreadTimes& thread, const Snapshot& before, double ThreadTimes::* field) {
  const auto known = before.threads.find(thread.stat.id);
  const bool same =
      known != before.threads.end() && known->second.stat.start_ticks == thread.stat.start_ticks;
  return same ? std::max(0.0, thread.*field - known->second.*field) : thread.*field;
}

Place kernel_place(const ThreadStat& thread, const Rules& rules, const Owners& owners) {
  const auto place = place_of_thread(thread, rules, owners);
  return place ? *place : Place{"kernel", "kernel", {}, {}};
}

void add_threads(const Snapshot& before, const Snapshot& after, const Rules& rules,
                 const Owners& owners, Report& report, Rows& rows) {
  for (const auto& [id, thread] : after.threads) {
    const double cpu_s = passed_s(thread, before, &ThreadTimes::cpu_s);
    if (cpu_s <= 0) continue;
    const bool kernel = thread.stat.of_kernel();
    if (kernel) report.classes.kernel_threads_s += cpu_s;
    if (!kernel && !place_of_thread(thread.stat, rules, owners)) continue;
    const ThreadName name = parse_name(thread.stat.name);
    Row& row = rows.row(kernel_place(thread.stat, rules, owners), "thread", name.common);
    row.estimated |= name.worker;
    add(row, thread.stat.core, cpu_s);
  }
}

void add_victims(const Evidence& before, const Evidence& after, Report& report) {
  std::map<int, Victim> victims;
  for (const auto& [id, thread] : after.snapshot.threads) {
    if (thread.stat.of_kernel()) continue;
    const double waited_s = passed_s(thread, before.snapshot, &ThreadTimes::waited_s);
    if (waited_s <= 0) continue;
    Victim& victim = victims[thread.process];
    victim.process = thread.process;
    victim.waited_s += waited_s;
    if (victim.name.empty() || id == thread.process) victim.name = thread.stat.name;
  }
  if (after.traced) {
    for (auto& [process, victim] : victims) {
      victim.behind_s = 0;
      const auto sum = [&, process = process](const Evidence& evidence) {
        if (!evidence.traced) return 0.0;
        const auto found = evidence.traced->interrupted_s.find(process);
        return found == evidence.traced->interrupted_s.end() ? 0.0 : found->second;
      };
      victim.interrupted_s = std::max(0.0, sum(after) - sum(before));
    }
    for (const Harm& harm : report.harms) {
      const auto found = victims.find(harm.process);
      if (found != victims.end()) *found->second.behind_s += harm.waited_s;
    }
  }
  for (auto& [process, victim] : victims) report.victims.push_back(std::move(victim));
}

// The longest waits first; no more than a report shows.
template <class Waits>
void shorten(std::vector<Waits>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Waits& one, const Waits& other) {
    return one.waited_s > other.waited_s;
  });
  if (list.size() > victims_max) list.resize(victims_max);
}

// The difference of what the programs measured.
class Tracing {
 public:
  Tracing(const Traced* before, const Traced& after) : before_(before), after_(after) {}

  // Calls `use(id, core, spent)` for each sum of this taker that grew.
  template <class Use>
  void each(Taker taker, const Use& use) const {
    for (const auto& [key, by_core] : after_.spent) {
      if (key.first != taker) continue;
      for (const auto& [core, spent] : by_core) {
        const Spent then = earlier(key, core);
        const Spent gone{std::max(0.0, spent.cpu_s - then.cpu_s),
                         spent.count - std::min(then.count, spent.count)};
        if (gone.cpu_s > 0 || gone.count > 0) use(key.second, core, gone);
      }
    }
  }
  [[nodiscard]] double sum_s(Taker taker) const {
    double sum = 0;
    each(taker, [&](std::uint64_t, int, const Spent& spent) { sum += spent.cpu_s; });
    return sum;
  }
  // Of one kind of thread and one process together, unsorted.
  [[nodiscard]] std::vector<Harm> harms(const Snapshot& now) const {
    std::map<std::pair<std::string, int>, Harm> merged;
    for (const auto& [key, harm] : after_.harms) {
      TracedHarm then;
      if (before_ != nullptr) {
        const auto found = before_->harms.find(key);
        if (found != before_->harms.end()) then = found->second;
      }
      if (harm.times <= then.times) continue;
      // The programs see a worker's name without its workqueue.
      const auto thread = now.threads.find(key.first);
      const std::string cause =
          parse_name(thread == now.threads.end() ? harm.cause : thread->second.stat.name).common;
      Harm& sum = merged[{cause, key.second}];
      sum.cause = cause;
      sum.victim = harm.victim;
      sum.process = key.second;
      sum.waited_s += harm.waited_s - then.waited_s;
      sum.times += harm.times - then.times;
    }
    std::vector<Harm> list;
    for (auto& [key, harm] : merged) list.push_back(std::move(harm));
    return list;
  }

 private:
  [[nodiscard]] Spent earlier(const std::pair<Taker, std::uint64_t>& key, int core) const {
    if (before_ == nullptr) return {};
    const auto found = before_->spent.find(key);
    if (found == before_->spent.end()) return {};
    const auto on_core = found->second.find(core);
    return on_core == found->second.end() ? Spent{} : on_core->second;
  }

  const Traced* before_;
  const Traced& after_;
};

std::string name_from(const std::map<std::uint64_t, std::string>& names, std::uint64_t id) {
  const auto found = names.find(id);
  return found == names.end() ? "?" : found->second;
}

void add_spent(Row& row, int core, const Spent& spent) {
  row.count = row.count.value_or(0) + spent.count;
  add(row, core, spent.cpu_s);
}

void add_traced_interrupts(const Tracing& tracing, const Snapshot& after, const Rules& rules,
                           const Owners& owners, Rows& rows) {
  std::map<std::string, const CountedLine*> lines;
  for (const CountedLine& line : after.interrupts) lines[line.id] = &line;
  tracing.each(Taker::interrupt, [&](std::uint64_t id, int core, const Spent& spent) {
    const std::string number = std::to_string(id);
    const auto line = lines.find(number);
    const std::string name =
        line == lines.end() ? number : name_of_interrupt(*line->second, owners);
    add_spent(rows.row(place_of_interrupt(number, rules, owners), "interrupt", name), core, spent);
  });
  tracing.each(Taker::vector, [&](std::uint64_t id, int core, const Spent& spent) {
    const std::string name = id < std::size(vector_names) ? vector_names[id] : "?";
    add_spent(rows.row(place_of_interrupt(name, rules, owners), "interrupt", name), core, spent);
  });
  tracing.each(Taker::softirq, [&](std::uint64_t id, int core, const Spent& spent) {
    const std::string name = id < std::size(softirq_names) ? softirq_names[id] : "?";
    const Rule* const rule = rules.find(Where::softirq, name);
    const Place place = rule != nullptr ? place_of_rule(*rule) : Place{"kernel", "kernel", {}, {}};
    add_spent(rows.row(place, "softirq", name), core, spent);
  });
}

void add_traced_threads(const Tracing& tracing, const Traced& traced, const Snapshot& after,
                        const Rules& rules, const Owners& owners, Rows& rows) {
  std::map<int, double> workers_s;
  tracing.each(Taker::thread, [&](std::uint64_t id, int core, const Spent& spent) {
    ThreadStat stat;
    const auto found = after.threads.find(static_cast<int>(id));
    if (found != after.threads.end()) stat = found->second.stat;
    if (stat.name.empty()) {  // It ended.
      stat.name = name_from(traced.threads, id);
      stat.flags = kernel_thread_flag;
    }
    const ThreadName name = parse_name(stat.name);
    if (name.worker) {
      workers_s[core] += spent.cpu_s;
      return;
    }
    add(rows.row(kernel_place(stat, rules, owners), "thread", name.common), core, spent.cpu_s);
  });
  tracing.each(Taker::work, [&](std::uint64_t id, int core, const Spent& spent) {
    const std::string name = name_from(traced.functions, id);
    const Rule* const rule = rules.find(Where::function, name);
    const Place place = rule != nullptr ? place_of_rule(*rule) : Place{"kernel", "kernel", {}, {}};
    workers_s[core] -= spent.cpu_s;
    add_spent(rows.row(place, "work", name), core, spent);
  });
  for (const auto& [core, rest_s] : workers_s) {
    if (rest_s <= 0) continue;
    add(rows.row({"kernel", "kernel", {}, {}}, "thread", "kworker, between work items"), core,
        rest_s);
  }
}

// Programs' own servicing threads (a FUSE daemon) are no kernel threads for BPF: schedstat has
// them.
void add_programs(const Snapshot& before, const Snapshot& after, const Rules& rules,
                  const Owners& owners, Rows& rows) {
  for (const auto& [id, thread] : after.threads) {
    if (thread.stat.of_kernel()) continue;
    const auto place = place_of_thread(thread.stat, rules, owners);
    const double cpu_s = place ? passed_s(thread, before, &ThreadTimes::cpu_s) : 0;
    if (cpu_s <= 0) continue;
    add(rows.row(*place, "thread", parse_name(thread.stat.name).common), thread.stat.core, cpu_s);
  }
}

void add_counted(const Evidence& before, const Evidence& after, const Rules& rules,
                 const Owners& owners, Report& report, Rows& rows) {
  divide(
      counts_between(before.snapshot.interrupts, after.snapshot.interrupts),
      field_of(report.by_core, &CoreTimes::interrupt_s), "interrupt",
      [&](const CountedLine& line) { return place_of_interrupt(line.id, rules, owners); },
      [&](const CountedLine& line) { return name_of_interrupt(line, owners); }, rows);
  divide(
      counts_between(before.snapshot.softirqs, after.snapshot.softirqs),
      field_of(report.by_core, &CoreTimes::softirq_s), "softirq",
      [&](const CountedLine& line) {
        const Rule* const rule = rules.find(Where::softirq, line.id);
        return rule != nullptr ? place_of_rule(*rule) : Place{"kernel", "kernel", {}, {}};
      },
      [](const CountedLine& line) { return line.id; }, rows);
  add_threads(before.snapshot, after.snapshot, rules, owners, report, rows);
  const double programs_s = std::max(0.0, after.snapshot.programs_s - before.snapshot.programs_s);
  report.classes.user_s = std::min(report.classes.user_s, programs_s);
  report.classes.system_calls_s = programs_s - report.classes.user_s;
}

void add_traced(const Evidence& before, const Evidence& after, const Rules& rules,
                const Owners& owners, Report& report, Rows& rows) {
  const Tracing tracing(before.traced ? &*before.traced : nullptr, *after.traced);
  add_traced_interrupts(tracing, after.snapshot, rules, owners, rows);
  add_traced_threads(tracing, *after.traced, after.snapshot, rules, owners, rows);
  add_programs(before.snapshot, after.snapshot, rules, owners, rows);
  report.harms = tracing.harms(after.snapshot);
  Classes& classes = report.classes;
  classes.user_s = tracing.sum_s(Taker::program);
  classes.system_calls_s = 0;
  classes.kernel_threads_s = tracing.sum_s(Taker::thread);
  classes.interrupts_s = tracing.sum_s(Taker::interrupt) + tracing.sum_s(Taker::vector);
  classes.softirqs_s = tracing.sum_s(Taker::softirq);
  classes.idle_s = tracing.sum_s(Taker::idle);
}

void add_cores(const Snapshot& before, const Snapshot& after, Report& report) {
  CoreTimes sum;
  for (const auto& [core, times] : before.times) {
    const auto later = after.times.find(core);
    if (later == after.times.end()) {
      report.went_offline.push_back(core);
      continue;
    }
    report.cores.push_back(core);
    report.by_core[core] = later->second.since(times);
    sum += report.by_core[core];
  }
  report.classes.user_s = sum.user_s;
  report.classes.interrupts_s = sum.interrupt_s;
  report.classes.softirqs_s = sum.softirq_s;
  report.classes.idle_s = sum.idle_s;
  report.classes.steal_s = sum.steal_s;
  report.classes.total_s = sum.total_s();
}

}  // namespace

double Classes::covered() const { return total_s > 0 ? sum_s() / total_s : 0; }

double Report::own_share() const {
  const double all_s = own_wall_s * static_cast<double>(std::max<std::size_t>(1, cores.size()));
  return own_wall_s > 0 ? own_cpu_s / all_s : 0;
}

std::optional<Place> place_of_thread(const ThreadStat& thread, const Rules& rules,
                                     const Owners& owners) {
  const ThreadName name = parse_name(thread.name);
  const Rule* rule = rules.find(Where::thread, thread.name, !thread.of_kernel());
  if (rule == nullptr && thread.of_kernel()) rule = rules.find(Where::workqueue, name.workqueue);
  Place place = rule != nullptr ? place_of_rule(*rule) : Place{};
  if (name.interrupt && thread.of_kernel()) {
    const Place of_interrupt = place_of_interrupt(std::to_string(*name.interrupt), rules, owners);
    if (rule == nullptr) return of_interrupt;
    place.device = of_interrupt.device;
    place.driver = of_interrupt.driver;
  }
  if (rule == nullptr) return std::nullopt;
  return place;
}

Report compare(const Evidence& before, const Evidence& after, const Rules& rules,
               const Owners& owners) {
  Report report;
  report.seconds =
      std::chrono::duration<double>(after.snapshot.when - before.snapshot.when).count();
  report.complete = before.snapshot.complete && after.snapshot.complete;
  report.traced = after.traced.has_value();
  if (after.traced) report.complete &= after.traced->lost == 0;
  add_cores(before.snapshot, after.snapshot, report);
  Rows rows;
  if (report.traced) {
    add_traced(before, after, rules, owners, report, rows);
  } else {
    add_counted(before, after, rules, owners, report, rows);
  }
  report.rows = rows.sorted();
  add_victims(before, after, report);
  shorten(report.victims);
  shorten(report.harms);
  return report;
}

}  // namespace k2k::watch
