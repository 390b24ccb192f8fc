#include "labs/interference/harm/sources.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "governor/policy.hpp"
#include "labs/interference/first_core.hpp"
#include "labs/interference/governor/observer.hpp"
#include "labs/interference/options.hpp"
#include "labs/interference/trace/replay.hpp"

namespace k2k::labs::harm {

namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds endless = 1h;  // Of a load without an end; a source ends earlier.
constexpr std::uint64_t page = 4'096;
constexpr std::size_t ubench_events = 50'000;
constexpr std::size_t twin_bytes = 8u << 20;
constexpr std::uint32_t paper_window_us = 13;

struct SourceMessage {
  SourceReport report;
  int error = 0;
  std::array<char, 300> text{};
};

void say(int pipe, const SourceMessage& message) {
  // A laboratory that has ended reads nothing: then the report is dropped.
  [[maybe_unused]] const ssize_t sent = ::write(pipe, &message, sizeof(message));
}

[[noreturn]] void fail(int pipe, const Error& error) {
  SourceMessage message;
  message.error = error.code == 0 ? EIO : error.code;
  std::strncpy(message.text.data(), error.message.c_str(), message.text.size() - 1);
  say(pipe, message);
  ::_exit(1);
}

// Blocks until the laboratory closes its end.
void wait_for_end(int control) {
  char byte = 0;
  while (::read(control, &byte, 1) != 0) {
  }
}

// Adds up the replays of a trace until `over`.
struct Replays {
  SourceReport report;
  telemetry::HistogramSnapshot delays;
  double tick_ns = 1;
  std::optional<Error> error;

  void run(Runtime& runtime, const Trace& trace, const std::atomic<bool>& over) {
    while (!over.load()) {
      TraceReport one;
      const Result<TraceReport> done = trace.replay(
          runtime, {.outstanding = 64, .longest = trace.endless() ? endless : Nanoseconds{}}, &one);
      report.requests += one.answered;
      report.errors += one.errors;
      report.device_cpu_s += std::chrono::duration<double>(one.device).count();
      delays.merge(one.delays);
      tick_ns = one.tick_ns;
      if (done || done.error().code == ECANCELED) continue;
      error = done.error();
      return;
    }
  }
};

// The work of a source, in a thread of its own, until it is told to end.
class Requests {
 public:
  // A trace, or reads of a kernel if there is one.
  Requests(Runtime& runtime, const Trace& trace, LaunchReads kernel)
      : runtime_(runtime), trace_(trace), kernel_(kernel) {}

  // Errors: KernelReads::make()'s.
  Status begin() {
    if (kernel_ != nullptr) {
      auto made = KernelReads::make(runtime_);
      if (!made) return made.error();
      reads_ = std::move(made).value();
    }
    thread_ = std::thread([this] {
      run();
      ended_ = true;
    });
    return {};
  }
  void end() {
    over_ = true;
    if (reads_) reads_->end();
    while (!reads_ && !ended_) {  // Repeatedly: the next launch may not have begun.
      runtime_.cancel();
      std::this_thread::sleep_for(200us);
    }
  }
  Result<SourceReport> report() {
    thread_.join();
    if (replays_.error) return *replays_.error;
    SourceReport report = replays_.report;
    if (reads_) {
      report.requests = reads_->count();
      report.errors = reads_->errors();
      return report;
    }
    report.delay_p50_us = replays_.delays.quantile(0.5) * replays_.tick_ns / 1e3;
    report.delay_p99_us = replays_.delays.quantile(0.99) * replays_.tick_ns / 1e3;
    return report;
  }

 private:
  void run() {
    if (!reads_) return replays_.run(runtime_, trace_, over_);
    const Result<LaunchReport> done = kernel_(runtime_, reads_->job());
    if (!done) replays_.error = done.error();
  }

  Runtime& runtime_;
  const Trace& trace_;
  const LaunchReads kernel_;
  std::unique_ptr<KernelReads> reads_;
  Replays replays_;
  std::atomic<bool> over_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

[[noreturn]] void be_source(const RuntimeConfig& config, Arm arm, const Trace& trace,
                            LaunchReads kernel, int control, int reports) {
  Result<Runtime> runtime = Runtime::create(config);
  if (!runtime) fail(reports, runtime.error());
  // The memory of the requests is there in every arm.
  void* const memory = ::mmap(nullptr, twin_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail(reports, {errno, "no memory for a source"});
  SourceMessage message;
  if (arm == Arm::twin) {
    say(reports, message);
    wait_for_end(control);
    say(reports, message);
    ::_exit(0);
  }
  governor::Observer observer;
  const auto before = observer.read();
  if (!before) fail(reports, before.error());
  Requests requests(runtime.value(), trace, kernel);
  const Instant begin = now();
  if (Status status = requests.begin(); !status) fail(reports, status.error());
  say(reports, message);
  wait_for_end(control);
  requests.end();
  const double seconds = std::chrono::duration<double>(now() - begin).count();
  const Result<SourceReport> made = requests.report();
  if (!made) fail(reports, made.error());
  const auto after = observer.read();
  if (!after) fail(reports, after.error());
  const server::Stats stats = runtime->stats();
  message.report = made.value();
  SourceReport& report = message.report;
  report.seconds = seconds;
  report.service_cpu_s =
      std::chrono::duration<double>(after.value().cpu - before.value().cpu).count();
  report.governor_cpu_s = stats.governor.sensor_seconds;
  report.wakes = stats.wakes;
  report.preprocess_wakes = stats.preprocess_wakes;
  report.preprocessed = stats.preprocessed;
  say(reports, message);
  ::_exit(0);
}

Result<SourceMessage> hear(int reports) {
  SourceMessage message;
  const ssize_t got = ::read(reports, &message, sizeof(message));
  if (got < 0 && errno == EINTR) return Error{ECANCELED, "stopped"};
  if (got != static_cast<ssize_t>(sizeof(message))) {
    return Error{ECHILD, "the source of requests ended without a report"};
  }
  if (message.error != 0) return Error{message.error, message.text.data()};
  return message;
}

}  // namespace

const char* name_of(Arm arm) {
  constexpr const char* names[] = {"alone", "twin", "no_op", "service"};
  return names[static_cast<std::size_t>(arm)];
}

std::vector<std::string> source_names() {
  std::vector<std::string> names = {"ubench", kernel_source};
  for (const std::string& name : Trace::names()) names.push_back(name);
  return names;
}

Result<Trace> source_of(const std::string& name, std::uint64_t seed) {
  if (name != "ubench" && name != kernel_source) return trace::trace_of(name, seed);
  std::vector<TraceEvent> events(ubench_events);
  for (TraceEvent& event : events) {
    event.operation = Operation::fault;
    event.amount = page;
  }
  return Trace::of(std::move(events), name);
}

Result<Trace> no_ops(double rate) {
  const auto count = static_cast<std::size_t>(std::clamp(rate, 1.0, 5e5));
  std::vector<TraceEvent> events(count);
  for (std::size_t at = 0; at < count; ++at) {
    events[at].since = Since::begin;
    events[at].after_ns =
        static_cast<std::int64_t>(static_cast<double>(at) * 1e9 / std::max(rate, 1.0));
  }
  return Trace::of(std::move(events), "no-ops");
}

Result<server::ServerConfig> setting_of(const std::string& words, server::ServerConfig config) {
  using server::BottomHalfMode;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, '+');) {
    if (word == "default") continue;
    if (word == "staged") {
      config.bottom_half = BottomHalfMode::staged;
    } else if (word == "split") {
      config.bottom_half = BottomHalfMode::split;
    } else if (word == "monolithic") {
      config.bottom_half = BottomHalfMode::monolithic;
    } else if (word == "steer") {
      config.steering = server::Steering::steered;
      config.cores = {first_core()};
    } else if (word == "coalesce") {
      config.coalesce_window_us = paper_window_us;
    } else if (word.starts_with("cap=")) {
      if (Status status = read_real_cap(word.substr(4), config.cap_permille); !status) {
        return status.error();
      }
    } else if (word.starts_with("governor=")) {
      const Result<k2k::governor::Policy> policy = k2k::governor::policy_named(word.substr(9));
      if (!policy) return policy.error();
      config.governor = policy.value();
    } else {
      return Error{EINVAL,
                   fmt::format("setting '{}' has no word '{}'; there are default, staged, split, "
                               "monolithic, steer, coalesce, cap=SHARE and governor=NAME, joined "
                               "by '+'",
                               words, word)};
    }
  }
  return config;
}

Result<SourceProcess> SourceProcess::start(const RuntimeConfig& base, Arm arm, const Trace& trace,
                                           LaunchReads kernel) {
  std::array<int, 2> control{};
  std::array<int, 2> reports{};
  if (::pipe2(control.data(), O_CLOEXEC) != 0) {
    return Error{errno, fmt::format("no pipe for a source: {}", std::strerror(errno))};
  }
  Descriptor control_read(control[0]);
  Descriptor control_write(control[1]);
  if (::pipe2(reports.data(), O_CLOEXEC) != 0) {
    return Error{errno, fmt::format("no pipe for a source: {}", std::strerror(errno))};
  }
  Descriptor reports_read(reports[0]);
  Descriptor reports_write(reports[1]);
  RuntimeConfig config = base;
  if (kernel == nullptr) config.backend = "trace";
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return Error{errno, fmt::format("no process for a source: {}; raise the limit on processes: "
                                    "ulimit -u",
                                    std::strerror(errno))};
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);
    for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
    control_write = Descriptor();
    be_source(config, arm, trace, kernel, control[0], reports[1]);
  }
  SourceProcess process(child, std::move(control_write), std::move(reports_read));
  reports_write = Descriptor();
  const Result<SourceMessage> ready = hear(process.reports_.number());
  if (!ready) return ready.error();
  return process;
}

SourceProcess::SourceProcess(SourceProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      control_(std::move(other.control_)),
      reports_(std::move(other.reports_)) {}

SourceProcess::~SourceProcess() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<SourceReport> SourceProcess::end() {
  control_ = Descriptor();
  const Result<SourceMessage> message = hear(reports_.number());
  if (!message) return message.error();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return message.value().report;
}

}  // namespace k2k::labs::harm
