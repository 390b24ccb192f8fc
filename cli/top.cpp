// k2k top: the requests of running processes, live.
//
// Two looks at a process give its rates. The share by the process's own ledger stands beside the
// kernel's account of its service threads (schedstat), which the process cannot influence.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "cli/commands.hpp"
#include "cli/running.hpp"
#include "cli/screen.hpp"
#include "cli/text_table.hpp"
#include "control/rates.hpp"
#include "host/observer.hpp"

namespace k2k::cli {

namespace {

using control::Endpoint;
using control::Rates;
using nlohmann::ordered_json;

constexpr double interval_min_s = 0.1;
constexpr double interval_max_s = 3600;
constexpr std::size_t calls_shown_max = 8;

struct Options {
  std::vector<std::string> processes;
  double interval_s = 1;
  bool once = false;
};

// One runtime, and its latest answer.
struct Watched {
  explicit Watched(pid_t process)
      : observer(host::is_service_thread, fmt::format("/proc/{}/task", process)) {}

  host::Observer observer;
  ordered_json last;
  std::optional<host::Reading> reading;
};

struct Row {
  std::string name;
  std::string command;
  std::string user;
  Rates rates;
  std::optional<double> seen;  // Share of all cores by schedstat; empty if not readable.
};

class Watch {
 public:
  // A row for each runtime that the last look also found. Errors: as find_running(), if processes
  // were named and none of them runs.
  Result<std::vector<Row>> look(const Options& options) {
    const Result<std::vector<Endpoint>> found = find(options);
    if (!found) return found.error();
    std::map<std::string, Watched> still;
    std::vector<Row> rows;
    for (const Endpoint& endpoint : found.value()) {
      const Result<ordered_json> shown = look_at(endpoint, true);
      if (!shown) continue;  // It ended or is stopped: the next look decides.
      auto known = watched_.extract(endpoint.name);
      const bool is_known = !known.empty();
      Watched watched = is_known ? std::move(known.mapped()) : Watched(endpoint.process);
      const std::optional<double> seen = observe(watched, shown.value());
      if (is_known) {
        rows.push_back({endpoint.name, harmless(shown.value()["command"]),
                        harmless(shown.value()["user"]),
                        control::rates_between(watched.last, shown.value()), seen});
      }
      watched.last = shown.value();
      still.emplace(endpoint.name, std::move(watched));
    }
    watched_ = std::move(still);
    return rows;
  }
  [[nodiscard]] bool anybody() const { return !watched_.empty(); }

 private:
  static Result<std::vector<Endpoint>> find(const Options& options) {
    if (options.processes.empty()) return control::endpoints();
    std::vector<Endpoint> all;
    std::optional<Error> why;
    for (const std::string& word : options.processes) {
      Result<std::vector<Endpoint>> found = find_running(word);
      if (!found) {
        why = found.error();
        continue;
      }
      for (Endpoint& one : found.value()) all.push_back(std::move(one));
    }
    if (all.empty() && why) return *why;
    return all;
  }

  static std::optional<double> observe(Watched& watched, const ordered_json& shown) {
    const Result<host::Reading> reading = watched.observer.read();
    if (!reading) return {};
    const std::optional<host::Reading> before = std::exchange(watched.reading, reading.value());
    if (!before || reading.value().when <= before->when || !shown.contains("cores")) return {};
    const double elapsed = static_cast<double>((reading.value().when - before->when).count());
    const double cores = shown["cores"].is_number() ? shown["cores"].get<double>() : 1;
    return static_cast<double>((reading.value().cpu - before->cpu).count()) /
           (elapsed * std::max(cores, 1.0));
  }

  std::map<std::string, Watched> watched_;
};

std::string percent(double fraction) { return fmt::format("{:.2f} %", 100 * fraction); }

std::string main_line(const Row& row) {
  const Rates& rates = row.rates;
  return fmt::format(
      "{:>9}  {:<15} {:>10.0f} {:>9.1f} {:>9.1f} {:>6} {:>9} {:>9} {:>8} {:>9} {:>8.0f} {:>8.0f}\n",
      row.name, row.command.substr(0, 15), rates.requests, rates.p50_us, rates.p99_us, rates.queue,
      percent(rates.share), row.seen ? percent(*row.seen) : "-",
      rates.cap > 0 ? percent(rates.cap) : "none", percent(rates.throttled), rates.wakes,
      rates.saved);
}

std::string heading(bool color) {
  return bold(fmt::format(
                  "{:>9}  {:<15} {:>10} {:>9} {:>9} {:>6} {:>9} {:>9} {:>8} {:>9} {:>8} {:>8}",
                  "PID", "COMMAND", "REQUESTS/S", "P50 us", "P99 us", "QUEUE", "SHARE", "SCHEDSTAT",
                  "CAP", "THROTTLED", "WAKES/S", "SAVED/S"),
              color) +
         "\n";
}

// Below a process' line: the parts of its time, and its tenants if there are several.
std::string detail_lines(const Rates& rates) {
  std::string text;
  if (!rates.cores.empty()) {
    text += fmt::format("{:>11}{:<10}", "", "cores");
    for (const control::NamedShare& core : rates.cores) {
      text += fmt::format(" {}: {}", harmless(core.name), percent(core.share));
    }
    text += "\n";
  }
  if (!rates.stages.empty()) {
    text += fmt::format("{:>11}{:<10}", "", "stages");
    for (const control::NamedShare& stage : rates.stages) {
      text += fmt::format(" {} {}", harmless(stage.name), percent(stage.share));
    }
    text += "\n";
  }
  for (const control::TenantRate& tenant : rates.tenants) {
    if (rates.tenants.size() < 2) break;
    text += fmt::format("{:>11}tenant {:<8} {:>10.0f} {:>26} {:>9}", "", tenant.tenant,
                        tenant.requests, "", percent(tenant.share));
    if (tenant.part > 0) {
      text +=
          fmt::format(" {:>9} {:>8} {:>9}", "", percent(tenant.part), percent(tenant.throttled));
    }
    text += "\n";
  }
  for (const std::string& conflict : rates.conflicts) {
    text += fmt::format("{:>11}{}\n", "", harmless(conflict));
  }
  std::size_t shown = 0;
  for (const control::CallRate& call : rates.calls) {
    if (rates.calls.size() < 2 || ++shown > calls_shown_max) break;
    text += fmt::format("{:>11}{:<15} {:>10.0f} {:>9.1f} {:>9.1f} {:>6} {:>9}\n", "",
                        harmless(call.name).substr(0, 15), call.requests, call.p50_us, call.p99_us,
                        "", percent(call.share));
  }
  return text;
}

std::string as_text(const std::vector<Row>& rows, double interval_s, bool color) {
  const std::time_t moment = std::time(nullptr);
  std::tm local{};
  localtime_r(&moment, &local);
  std::string text = fmt::format("k2k top  {:%H:%M:%S}  {} runtime{}, every {:g} s\n\n", local,
                                 rows.size(), rows.size() == 1 ? "" : "s", interval_s) +
                     heading(color);
  for (const Row& row : rows) text += main_line(row) + detail_lines(row.rates);
  return text + "\n";
}

ordered_json list_json(const std::vector<control::NamedShare>& list) {
  ordered_json object = ordered_json::object();
  for (const control::NamedShare& one : list) object[one.name] = one.share;
  return object;
}

ordered_json as_json(const std::vector<Row>& rows) {
  ordered_json list = ordered_json::array();
  for (const Row& row : rows) {
    const Rates& rates = row.rates;
    ordered_json calls = ordered_json::array();
    for (const control::CallRate& call : rates.calls) {
      calls.push_back({{"name", call.name},
                       {"requests_per_second", call.requests},
                       {"p50_us", call.p50_us},
                       {"p99_us", call.p99_us},
                       {"share", call.share}});
    }
    ordered_json tenants = ordered_json::array();
    for (const control::TenantRate& tenant : rates.tenants) {
      tenants.push_back({{"tenant", tenant.tenant},
                         {"requests_per_second", tenant.requests},
                         {"share", tenant.share},
                         {"part", tenant.part},
                         {"throttled", tenant.throttled}});
    }
    list.push_back({{"name", row.name},
                    {"command", row.command},
                    {"user", row.user},
                    {"seconds", rates.seconds},
                    {"requests_per_second", rates.requests},
                    {"p50_us", rates.p50_us},
                    {"p99_us", rates.p99_us},
                    {"queue", rates.queue},
                    {"share", rates.share},
                    {"schedstat_share", row.seen ? ordered_json(*row.seen) : ordered_json(nullptr)},
                    {"cap", rates.cap},
                    {"throttled", rates.throttled},
                    {"wakes_per_second", rates.wakes},
                    {"interrupts_saved_per_second", rates.saved},
                    {"cores", list_json(rates.cores)},
                    {"stages", list_json(rates.stages)},
                    {"tenants", tenants},
                    {"conflicts", rates.conflicts},
                    {"calls", calls}});
  }
  return list;
}

// A live picture waits for processes; plain output does not.
int watch(const Context& context, const Options& options) {
  const auto interval =
      std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(options.interval_s));
  Watch watch;
  std::optional<Error> ended;
  {
    Screen screen(!context.json && !options.once);
    bool seen = false;
    while (true) {
      const Result<std::vector<Row>> rows = watch.look(options);
      if (!rows) {
        if (!seen) ended = rows.error();
        break;
      }
      seen |= watch.anybody();
      if (!watch.anybody() && !screen.live()) {
        ended = Error{ESRCH, nobody_runs()};
        break;
      }
      const bool shows = !rows.value().empty();
      int status = exit_ok;
      if (!watch.anybody()) {
        status = screen.show(nobody_runs() + "\n");
      } else if (shows && context.json) {
        status = print(as_json(rows.value()).dump() + "\n");
      } else if (shows) {
        status = screen.show(as_text(rows.value(), options.interval_s, context.color));
      }
      if (status != exit_ok) return status;
      if (shows && options.once) break;
      const Instant next = now() + interval;
      Screen::Woken woken = Screen::Woken::size;
      while (woken == Screen::Woken::size) {
        woken = screen.wait(next - now());
        if (woken == Screen::Woken::size && shows) {
          static_cast<void>(screen.show(as_text(rows.value(), options.interval_s, context.color)));
        }
      }
      if (woken == Screen::Woken::quit) break;
    }
  }
  if (!ended) return exit_ok;
  return complain(ended->message, ended->code == EINVAL ? exit_usage : exit_failure);
}

int run_top(const Context& context, const Options& options) {
  if (!(options.interval_s >= interval_min_s && options.interval_s <= interval_max_s)) {
    return complain(fmt::format("--interval is {:g}; permitted are {:g} to {:g} seconds",
                                options.interval_s, interval_min_s, interval_max_s),
                    exit_usage);
  }
  return watch(context, options);
}

}  // namespace

Command top_command() {
  return {
      .name = "top",
      .summary = "Watch the requests of running processes",
      .description =
          "A line for each runtime of the caller's processes (root sees all), renewed each "
          "interval: "
          "requests a second, the median and the 99th percentile of their time from the call to "
          "the "
          "work-item's next step, how many are in flight, the share of all cores' CPU time that "
          "serving took by its own ledger and by Linux' account of its threads (schedstat), "
          "the cap, "
          "the part of the time in which threads waited for the governor, wake-ups, and interrupts "
          "that polling and coalescing saved. Below it are cores and stages and, if there are "
          "several, tenants and calls, whose latencies count since the start. Ctrl-C or q ends it. "
          "Without a terminal, one block is printed each interval.",
      .examples = {{"k2k top", "All processes, each second."},
                   {"k2k top 1234 --interval 0.2", "One of them, five times a second."},
                   {"k2k top --once --json | jq '.[].requests_per_second'", "For scripts."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto options = std::make_shared<Options>();
        line.option("PID", options->processes, "Processes; without, all").offer_by(running_names);
        line.option("--interval", options->interval_s, "Seconds between two samples").type("S");
        line.flag("--once", options->once, "End after the first interval");
        return [&context, options] { return run_top(context, *options); };
      },
  };
}

}  // namespace k2k::cli
