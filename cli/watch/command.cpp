// k2k watch: what Linux' device paths cost this machine, with or without a runtime of K2K.

#include "cli/watch/steer/command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <memory>
#include <mutex>

#include "base/clock.hpp"
#include "cli/commands.hpp"
#include "cli/screen.hpp"
#include "cli/watch/replace_file.hpp"
#include "cli/watch/show/json.hpp"
#include "cli/watch/show/metrics.hpp"
#include "cli/watch/show/page.hpp"
#include "cli/watch/show/text.hpp"
#include "cli/watch/watcher.hpp"
#include "control/http_page.hpp"

namespace k2k::cli {

namespace {

constexpr double watch_interval_min_s = 0.1;
constexpr double watch_seconds_max = 86'400;

struct WatchOptions {
  bool watch = false;
  double seconds = 0;  // 0: 3 s, or with --watch until the end.
  double interval_s = 1;
  std::uint32_t rows = 20;
  bool no_bpf = false;
  bool prometheus = false;
  std::uint32_t port = 0;
  std::string html;
  std::string rules;
  std::string root;
  SteerOptions steer;
};

std::string machine_name() {
  utsname name{};
  ::uname(&name);
  return fmt::format("{}, Linux {}", name.nodename, name.release);
}

std::string moment_text() {
  const std::time_t moment = std::time(nullptr);
  std::tm local{};
  localtime_r(&moment, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

// The text that Prometheus reads, which another thread asks for.
class ServedText {
 public:
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  [[nodiscard]] std::string get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// One interval, or the whole time.
int show_report(const Context& context, const WatchOptions& options, Screen& screen,
                const watch::Report& report, const char* event) {
  if (options.prometheus) return print(watch::as_metrics(report));
  if (context.json) return print(watch::json_line(report, event));
  return screen.show(watch::as_text(report, options.rows, context.color));
}

// Watches until the end of the time, or until the user ends it. Returns the report of all of it.
Result<watch::Report> observe(const Context& context, const WatchOptions& options,
                              watch::Watcher& watcher, ServedText& served, int& status) {
  Result<watch::Evidence> first = watcher.look();
  if (!first) return first.error();
  const double seconds = options.seconds > 0 ? options.seconds
                         : options.watch     ? watch_seconds_max * 365
                                             : 3;
  const auto duration = [](double s) {
    return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(s));
  };
  const Instant end = now() + duration(seconds);
  Screen screen(options.watch && !context.json && !options.prometheus);
  watch::Evidence before = first.value();
  served.set(watch::as_metrics(watcher.since(before, before)));
  while (true) {
    const Instant next = options.watch || options.port > 0
                             ? std::min(end, now() + duration(options.interval_s))
                             : end;
    Screen::Woken woken = Screen::Woken::size;
    while (woken == Screen::Woken::size) woken = screen.wait(next - now());
    Result<watch::Evidence> after = watcher.look();
    if (!after) return after.error();
    if (options.port > 0) {
      served.set(watch::as_metrics(watcher.since(first.value(), after.value())));
    }
    if (options.watch && !options.prometheus) {
      status =
          show_report(context, options, screen, watcher.since(before, after.value()), "interval");
      if (status != exit_ok) break;
    }
    before = std::move(after).value();
    if (woken == Screen::Woken::quit || now() >= end) break;
  }
  return watcher.since(first.value(), before);
}

int run_observation(const Context& context, const WatchOptions& options, watch::Rules rules) {
  watch::Roots roots;
  if (!options.root.empty()) roots = {options.root + "/proc", options.root + "/sys"};
  watch::Watcher watcher(roots, std::move(rules), !options.no_bpf && options.root.empty());
  ServedText served;
  std::unique_ptr<control::HttpPage> page;
  if (options.port > 0) {
    Result<std::unique_ptr<control::HttpPage>> started =
        control::HttpPage::start(options.port, [&served] { return served.get(); });
    if (!started) return complain(started.error().message);
    page = std::move(started).value();
  }
  int status = exit_ok;
  const Result<watch::Report> total = observe(context, options, watcher, served, status);
  if (!total) return complain(total.error().message);
  if (status != exit_ok) return status;
  if (!options.html.empty()) {
    const Status written = watch::replace_file(
        options.html, watch::page_of(total.value(), moment_text(), machine_name()));
    if (!written) return complain(written.error().message);
  }
  if (options.watch && !context.json && !options.prometheus) return exit_ok;
  Screen plain(false);
  return show_report(context, options, plain, total.value(), "summary");
}

int run_watch(const Context& context, const WatchOptions& options) {
  if (!(options.interval_s >= watch_interval_min_s && options.interval_s <= watch_seconds_max)) {
    return complain(fmt::format("--interval is {:g}; permitted are {:g} to {:g} seconds",
                                options.interval_s, watch_interval_min_s, watch_seconds_max),
                    exit_usage);
  }
  if (!(options.seconds >= 0 && options.seconds <= watch_seconds_max)) {
    return complain(fmt::format("--seconds is {:g}; permitted are 0 to {:g}", options.seconds,
                                watch_seconds_max),
                    exit_usage);
  }
  if (options.prometheus && context.json) {
    return complain("--prometheus and --json are two forms of one output; give one", exit_usage);
  }
  Result<watch::Rules> rules = options.rules.empty()
                                   ? Result<watch::Rules>(watch::Rules::built_in())
                                   : watch::Rules::from_file(options.rules);
  if (!rules) {
    return complain(rules.error().message,
                    rules.error().code == EINVAL ? exit_usage : exit_failure);
  }
  if (options.steer.any()) return run_steering(context, options.steer, rules.value());
  return run_observation(context, options, std::move(rules).value());
}

}  // namespace

Command watch_command() {
  return {
      .name = "watch",
      .summary = watch_summary,
      .description =
          "Measures the CPU time that Linux' own interrupts, softirqs, kernel threads and work "
          "items take for accelerators, storage, networks and other devices, and the time that "
          "programs waited for a core. It needs no runtime of K2K. With the rights for BPF it "
          "measures by tracepoints, which also say behind which kernel thread a program waited; "
          "otherwise by the counters of /proc, and it says why. Times that it estimates have a ~. "
          "Rules (cli/watch/rules.toml) give each interrupt, driver, thread and workqueue its "
          "part; --rules adds others. Ctrl-C ends it with all that was measured until then. "
          "--steer moves the threads that serve devices to other cores and --cap limits each of "
          "them by SCHED_DEADLINE, until --undo restores what was; they need root.",
      .examples = {{"sudo k2k watch", "Three seconds of this machine."},
                   {"sudo k2k watch --watch", "A table, renewed each second."},
                   {"sudo k2k watch --seconds 60 --html watch.html", "A page of one minute."},
                   {"k2k watch --json | jq '.rows[] | select(.kind == \"accelerator\")'",
                    "Accelerators alone, for scripts."},
                   {"sudo k2k watch --watch --port 9464", "For Prometheus, until Ctrl-C."},
                   {"sudo k2k watch --steer 0 --part nvidia",
                    "Move the threads of NVIDIA's driver to core 0."},
                   {"sudo k2k watch --undo", "Restore what was before."}},
      .has_json = true,
      .add = [](CommandLine& line, Context& context) -> Run {
        auto options = std::make_shared<WatchOptions>();
        line.flag("--watch", options->watch, "Renew the table each interval, until Ctrl-C or q");
        line.option("--seconds", options->seconds,
                    "End after this time; 0 is 3 s, or no end with --watch")
            .type("S");
        line.option("--interval", options->interval_s, "Seconds between two looks")
            .type("S")
            .show_default();
        line.option("--rows", options->rows, "Device paths in the table").type("N").show_default();
        line.flag("--no-bpf", options->no_bpf, "Use the counters alone");
        line.flag("--prometheus", options->prometheus,
                  "Print Prometheus' text format at the end, for a collector of text files");
        line.option("--port", options->port,
                    "Serve http://127.0.0.1:PORT/metrics meanwhile for Prometheus")
            .type("PORT")
            .within(1, 65'535);
        line.option("--html", options->html, "Write a page of the whole time to FILE").type("FILE");
        line.option("--rules", options->rules, "Rules that precede the built-in ones").type("FILE");
        line.option("--root", options->root, "Read DIR/proc and DIR/sys instead of this machine's")
            .type("DIR");
        SteerOptions& steer = options->steer;
        line.option("--steer", steer.cores, "Move threads that serve devices to these cores")
            .type("CPUS");
        line.option("--cap", steer.cap, "Limit each of these threads to this part of one core")
            .type("PCT");
        line.option("--part", steer.parts, "Of --steer and --cap: the threads of these parts alone")
            .type("NAME")
            .commas();
        line.flag("--undo", steer.undo, "Restore the threads that --steer or --cap changed");
        line.option("--state", steer.state, "The file that remembers how the threads were")
            .type("FILE")
            .show_default();
        return [&context, options] { return run_watch(context, *options); };
      },
  };
}

}  // namespace k2k::cli
