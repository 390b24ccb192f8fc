#include "labs/interference/harm/sources.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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
#include "traces_text.hpp"

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

// Closes what a source inherits: the pipes of other sources would keep those alive.
void keep_only(int one, int other) {
  const unsigned first = static_cast<unsigned>(std::min(one, other));
  const unsigned last = static_cast<unsigned>(std::max(one, other));
  constexpr unsigned standard = 3;
  const auto close_all = [](unsigned from, unsigned to) {
    if (from <= to) ::syscall(SYS_close_range, from, to, 0);
  };
  if (first > standard) close_all(standard, first - 1);
  close_all(first + 1, last - 1);
  close_all(last + 1, ~0u);
}

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

// Blocks until the laboratory closes its end. A byte from it is passed on.
template <class OnByte>
void wait_for_end(int control, OnByte on_byte) {
  char byte = 0;
  for (ssize_t got = 0; (got = ::read(control, &byte, 1)) != 0;) {
    if (got > 0) on_byte();
  }
}

// What a source has used and done up to a moment.
struct Mark {
  Instant when{};
  governor::Reading reading;
  server::Stats stats;
};

Mark mark_of(const Runtime& runtime, governor::Observer& observer, int reports) {
  const auto reading = observer.read();
  if (!reading) fail(reports, reading.error());
  return {now(), reading.value(), runtime.stats()};
}

std::uint64_t answered(const Mark& mark) { return mark.stats.requests - mark.stats.in_flight; }

// The part of a report that begins with one mark and ends with another.
void count_between(const Mark& begin, const Mark& end, SourceReport& report) {
  report.seconds = std::chrono::duration<double>(end.when - begin.when).count();
  report.requests = answered(end) - std::min(answered(begin), answered(end));
  report.service_cpu_s = std::chrono::duration<double>(end.reading.cpu - begin.reading.cpu).count();
  report.governor_cpu_s = end.stats.governor.sensor_seconds - begin.stats.governor.sensor_seconds;
  report.wakes = end.stats.wakes - begin.stats.wakes;
  report.preprocess_wakes = end.stats.preprocess_wakes - begin.stats.preprocess_wakes;
  report.preprocessed = end.stats.preprocessed - begin.stats.preprocessed;
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
    wait_for_end(control, [] {});
    say(reports, message);
    ::_exit(0);
  }
  governor::Observer observer;
  Mark begin = mark_of(runtime.value(), observer, reports);
  Requests requests(runtime.value(), trace, kernel);
  if (Status status = requests.begin(); !status) fail(reports, status.error());
  say(reports, message);
  wait_for_end(control, [&] { begin = mark_of(runtime.value(), observer, reports); });
  const Mark end = mark_of(runtime.value(), observer, reports);
  requests.end();
  const Result<SourceReport> made = requests.report();
  if (!made) fail(reports, made.error());
  message.report = made.value();
  count_between(begin, end, message.report);
  say(reports, message);
  ::_exit(0);
}

Result<SourceMessage> hear(int reports, const volatile std::sig_atomic_t& stopped) {
  pollfd watched{reports, POLLIN, 0};
  while (::poll(&watched, 1, static_cast<int>(wait_step.count())) <= 0) {
    if (stopped != 0) return Error{ECANCELED, "stopped"};
  }
  SourceMessage message;
  const ssize_t got = ::read(reports, &message, sizeof(message));
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
  for (const RecordedText& one : recorded_texts) names.emplace_back(one.name);
  for (const std::string& name : Trace::names()) names.push_back(name);
  return names;
}

Result<Trace> source_of(const std::string& name, std::uint64_t seed) {
  for (const RecordedText& one : recorded_texts) {
    if (one.name == name) return Trace::parse(one.text, name);
  }
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

Result<Crowd> crowd_of(const std::string& words) {
  Crowd crowd;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, '+');) {
    if (word.starts_with("devices=")) {
      std::uint32_t devices = 0;
      const Status status = read_count("devices", word.substr(8), devices_max, devices);
      if (!status) return status.error();
      crowd.devices = devices;
    } else if (word.starts_with("limit=")) {
      std::uint32_t permille = 0;
      if (Status status = read_real_cap(word.substr(6), permille); !status) return status.error();
      crowd.limit = permille / 1000.0;
    }
  }
  return crowd;
}

Result<server::ServerConfig> setting_of(const std::string& words, server::ServerConfig config) {
  using server::BottomHalfMode;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, '+');) {
    if (word == "default") continue;
    const bool valueless = word.ends_with('=');
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
    } else if (word.starts_with("cap=") && !valueless) {
      if (Status status = read_real_cap(word.substr(4), config.cap_permille); !status) {
        return status.error();
      }
    } else if (word.starts_with("governor=") && !valueless) {
      const Result<k2k::governor::Policy> policy = k2k::governor::policy_named(word.substr(9));
      if (!policy) return policy.error();
      config.governor = policy.value();
    } else if (word.starts_with("loss=") && !valueless) {
      if (Status status = read_real_cap(word.substr(5), config.loss_max_permille); !status) {
        return status.error();
      }
      config.governor = k2k::governor::Policy::automatic;
      config.cap_permille = 1000;
    } else if (valueless || (!word.starts_with("devices=") && !word.starts_with("limit="))) {
      return Error{EINVAL,
                   fmt::format("setting '{}' has no word '{}'; there are default, staged, split, "
                               "monolithic, steer, coalesce, cap=SHARE, governor=NAME, loss=SHARE, "
                               "devices=COUNT and limit=SHARE, joined by '+'",
                               words, word)};
    }
  }
  const Result<Crowd> crowd = crowd_of(words);
  if (!crowd) return crowd.error();
  return config;
}

Result<SourceProcess> SourceProcess::start(const SourcePlan& plan,
                                           const volatile std::sig_atomic_t& stopped) {
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
  RuntimeConfig config = plan.config;
  if (plan.kernel == nullptr) config.backend = "trace";
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
    keep_only(control[0], reports[1]);
    if (!plan.host_dir.empty()) ::setenv("K2K_HOST_DIR", plan.host_dir.c_str(), 1);
    be_source(config, plan.arm, plan.trace, plan.kernel, control[0], reports[1]);
  }
  SourceProcess process(child, std::move(control_write), std::move(reports_read), stopped);
  reports_write = Descriptor();
  const Result<SourceMessage> ready = hear(process.reports_.number(), stopped);
  if (!ready) return ready.error();
  return process;
}

SourceProcess::SourceProcess(SourceProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      control_(std::move(other.control_)),
      reports_(std::move(other.reports_)),
      stopped_(other.stopped_) {}

SourceProcess::~SourceProcess() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status SourceProcess::count() {
  const char byte = 1;
  if (::write(control_.number(), &byte, 1) == 1) return {};
  return Error{ECHILD, "the source of requests ended by itself"};
}

Result<SourceReport> SourceProcess::end() {
  control_ = Descriptor();
  const Result<SourceMessage> message = hear(reports_.number(), *stopped_);
  if (!message) return message.error();
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return message.value().report;
}

}  // namespace k2k::labs::harm
