#include "labs/interference/escapes/escapes.hpp"

#include <fmt/format.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "bench/verdict.hpp"
#include "labs/interference/escapes/kernel_time.hpp"
#include "labs/interference/escapes/target.hpp"
#include "labs/interference/governor/observer.hpp"
#include "labs/interference/governor/study.hpp"
#include "labs/interference/limited_place.hpp"
#include "runtime/settings/policy_file.hpp"

namespace k2k::labs::escapes {

namespace {

using namespace std::chrono_literals;
using governor::rounded;
using nlohmann::ordered_json;

// A full bucket is spent at the start, and within a second the cost of interrupts is measured.
constexpr Nanoseconds warm_up = 1300ms;
constexpr Nanoseconds start_max = 10s;
constexpr double tolerance = 0.01;  // Of the machine: other programs, ticks.

enum class Phase : std::uint32_t { starts, attacks, measures, ends };

// Shared with the processes of an attempt.
struct Report {
  sem_t
      next_phase{};  // Posted once a phase. A thread that looks at a clock would be measured, too.
  std::atomic<std::uint32_t> state{0};  // 1 = ready, 2 = measured, 3 = failed.
  double charged_seconds = 0;
  double interrupt_seconds = 0;  // Of these.
  double device_seconds = 0;
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> refused{0};
  int error = 0;
  std::array<char, 256> message{};
};
struct Shared {
  Shared() {
    for (Report& report : reports) ::sem_init(&report.next_phase, 1, 0);
  }
  void enter(Phase next) {
    phase = next;
    for (Report& report : reports) ::sem_post(&report.next_phase);
  }

  std::atomic<Phase> phase{Phase::starts};  // Kernels read it.
  std::array<Report, processes_max> reports;
};

void wait_for_next_phase(Report& report) {
  while (::sem_wait(&report.next_phase) != 0 && errno == EINTR) {
  }
}

double charged_by(const Runtime& runtime) { return runtime.stats().governor.charged_seconds; }

[[noreturn]] void fail(Report& report, const Error& error) {
  report.error = error.code;
  fmt::format_to_n(report.message.data(), report.message.size() - 1, "{}", error.message);
  report.state = 3;
  ::_exit(1);
}

// The life of one process of an attempt.
[[noreturn]] void attack(const RuntimeConfig& config, Deed deed, const std::string& host_dir,
                         Shared& shared, Report& report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Nobody else would end it.
  if (!host_dir.empty()) ::setenv("K2K_HOST_DIR", host_dir.c_str(), 1);
  const Result<Target> target = Target::make(deed);
  if (!target) fail(report, target.error());
  Result<Runtime> runtime = Runtime::create(config);
  if (!runtime) fail(report, runtime.error());
  report.state = 1;
  wait_for_next_phase(report);
  std::thread launches([&] {
    const auto kernel = [&shared, &report, one = target.value()] {
      while (shared.phase.load(std::memory_order_relaxed) < Phase::ends) {
        const long answer = one.round(k2k::item_rank());
        (answer == -EPERM ? report.refused : report.answered).fetch_add(1);
      }
    };
    const auto launched = runtime->launch({.groups = 1, .group_items = items}, kernel, "escapes");
    if (!launched && shared.phase.load() < Phase::ends) fail(report, launched.error());
  });
  wait_for_next_phase(report);
  governor::Observer device(governor::is_device_thread);
  const auto device_seconds = [&device] {
    const auto reading = device.read();
    return reading ? static_cast<double>(reading.value().cpu.count()) / 1e9 : 0.0;
  };
  const double charged = charged_by(runtime.value());
  const auto of_interrupts = [&] {
    return runtime.value().stats().governor.request_interrupt_seconds;
  };
  const double interrupts = of_interrupts();
  const double of_device = device_seconds();
  wait_for_next_phase(report);
  report.charged_seconds = charged_by(runtime.value()) - charged;
  report.interrupt_seconds = of_interrupts() - interrupts;
  report.device_seconds = device_seconds() - of_device;
  report.state = 2;
  launches.detach();
  ::_exit(0);  // Requests in debt would delay the end.
}

// The processes end with this object.
class Attackers {
 public:
  Attackers() = default;
  Attackers(const Attackers&) = delete;
  Attackers& operator=(const Attackers&) = delete;
  ~Attackers() {
    for (const pid_t process : processes_) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
  }
  // `host_dir`: with a host limit; "": the machine's.
  Status start(const RuntimeConfig& config, const Attempt& attempt, const std::string& host_dir,
               Shared& shared) {
    std::fflush(nullptr);
    for (std::uint32_t index = 0; index < attempt.processes; ++index) {
      const pid_t process = ::fork();
      if (process < 0) {
        return Error{errno, fmt::format("no process for an attempt: {}", std::strerror(errno))};
      }
      if (process == 0) {
        attack(config, attempt.deed, host_dir, shared, shared.reports[index]);
      }
      processes_.push_back(process);
    }
    return {};
  }
  // Until each report has this state. Errors: the process' own; ETIMEDOUT.
  Status reach(const Shared& shared, std::uint32_t state) const {
    const Instant end = now() + start_max;
    for (std::size_t index = 0; index < processes_.size(); ++index) {
      const Report& report = shared.reports[index];
      while (report.state.load() != state) {
        if (report.state.load() == 3) return Error{report.error, report.message.data()};
        if (now() > end) return Error{ETIMEDOUT, "a process of an attempt does not answer"};
        std::this_thread::sleep_for(1ms);
      }
    }
    return {};
  }
  [[nodiscard]] const std::vector<pid_t>& processes() const { return processes_; }

 private:
  std::vector<pid_t> processes_;
};

struct Shares {
  Shares() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) shared = new (memory) Shared;
  }
  ~Shares() {
    if (shared != nullptr) ::munmap(shared, sizeof(Shared));
  }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;
  Shared* shared = nullptr;
};

// CPU time of the processes, in seconds: they have no thread that ends.
Result<double> cpu_seconds(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) {
    clockid_t clock{};
    timespec time{};
    if (const int failed = ::clock_getcpuclockid(process, &clock); failed != 0) {
      return Error{failed, fmt::format("a process of an attempt ended: {}", std::strerror(failed))};
    }
    ::clock_gettime(clock, &time);
    sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  return sum;
}

// CPU time over a time, in seconds.
struct Worked {
  double processes = 0;
  double threads = 0;
  double interrupts = 0;
  double elapsed = 0;
};

Result<Worked> watch(const std::vector<pid_t>& processes, KernelTime& kernel, double seconds) {
  Worked worked;
  const Instant begin = now();
  for (const double sign : {-1.0, 1.0}) {
    if (sign > 0) std::this_thread::sleep_for(Nanoseconds(std::llround(seconds * 1e9)));
    const Result<double> of_processes = cpu_seconds(processes);
    if (!of_processes) return of_processes.error();
    const Result<KernelSeconds> of_kernel = kernel.read();
    if (!of_kernel) return of_kernel.error();
    worked.processes += sign * of_processes.value();
    worked.threads += sign * of_kernel.value().threads;
    worked.interrupts += sign * of_kernel.value().interrupts;
  }
  worked.elapsed = static_cast<double>((now() - begin).count()) / 1e9;
  return worked;
}

// By Student's t. Of the shares themselves, not of their logarithms: an attempt that is refused
// costs about nothing, and other programs add to any. A share below `least` counts as that.
bench::Interval machine_of(const std::vector<Found>& rounds) {
  constexpr double least = 1e-6;
  K2K_EXPECT(rounds.size() >= 2);
  const auto count = static_cast<double>(rounds.size());
  double mean = 0;
  for (const Found& one : rounds) mean += one.machine() / count;
  double squares = 0;
  for (const Found& one : rounds) squares += (one.machine() - mean) * (one.machine() - mean);
  const double half = bench::student(rounds.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return {std::max(mean - half, least), std::max(mean, least), std::max(mean + half, least),
          rounds.size()};
}

}  // namespace

const std::vector<Attempt>& all_attempts() {
  static const std::vector<Attempt> attempts = {
      {"datagrams over loopback", Deed::sends},
      {"dirty pages", Deed::dirty_pages},
      {"direct reads", Deed::direct_reads},
      {"fsync", Deed::fsync},
      {"unmapping of filled memory", Deed::unmapping},
      {"urgent calls", Deed::urgent_calls},
      {"urgent calls of three processes", Deed::urgent_calls, 3},
      {"the same under a host limit", Deed::urgent_calls, 3, true},
      {"io_uring", Deed::ring_of_calls},
      {"fork", Deed::child},
  };
  return attempts;
}

std::string verdict(const std::vector<Found>& rounds, double cap) {
  const auto is_refused = [](const Found& one) { return one.answered == 0 && one.refused != 0; };
  if (std::all_of(rounds.begin(), rounds.end(), is_refused)) return "refused";
  const bench::Judgement judged =
      bench::judge(machine_of(rounds), cap + tolerance, bench::Better::lower);
  if (judged.verdict == bench::Verdict::cannot_tell) return bench::text_of(judged);
  return judged.verdict == bench::Verdict::met ? "charged" : "escaped";
}

ordered_json row_of(const Attempt& attempt, double cap, const std::vector<Found>& rounds) {
  const auto mean = [&](double Found::* share) {
    double sum = 0;
    for (const Found& one : rounds) sum += one.*share;
    return rounded(sum / static_cast<double>(rounds.size()));
  };
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  for (const Found& one : rounds) {
    answered += one.answered;
    refused += one.refused;
  }
  const bench::Interval machine = machine_of(rounds);
  return {{"attempt", attempt.name},
          {"processes", attempt.processes},
          {"cap", cap},
          {"rounds", rounds.size()},
          {"machine", rounded(machine.mean)},
          {"low", rounded(machine.low)},
          {"high", rounded(machine.high)},
          {"of_processes", mean(&Found::processes)},
          {"of_threads", mean(&Found::threads)},
          {"of_interrupts", mean(&Found::interrupts)},
          {"charged", mean(&Found::charged)},
          {"charged_interrupts", mean(&Found::charged_interrupts)},
          {"answered", answered},
          {"refused", refused},
          {"kernel_threads", rounds.back().kernel_threads},
          {"verdict", verdict(rounds, cap)}};
}

Result<Found> measure(const RuntimeConfig& base, const Attempt& attempt, std::uint32_t cap_permille,
                      double seconds) {
  RuntimeConfig config = base;
  config.backend = "cpu";
  config.device.compute_units = 1;
  config.server.policy = server::CallPolicy::file;
  config.server.policy_file = any_without_a_log;
  config.server.cap_permille = cap_permille;
  config.server.governor = k2k::governor::Policy::budget;
  std::optional<TemporaryFolder> folder;  // Outlives the attackers.
  if (attempt.host_limit) {
    Result<TemporaryFolder> limited = limited_place(cap_permille / 1000.0);
    if (!limited) return limited.error();
    folder.emplace(std::move(limited).value());
  }
  const Shares shares;
  if (shares.shared == nullptr) return Error{ENOMEM, "no memory for the reports of an attempt"};
  Shared& shared = *shares.shared;
  Attackers attackers;
  if (Status status =
          attackers.start(config, attempt, folder ? host_place(*folder).path : "", shared);
      !status) {
    return status.error();
  }
  if (Status status = attackers.reach(shared, 1); !status) return status.error();
  const auto cores = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  KernelTime kernel;
  const Result<Worked> baseline = watch(attackers.processes(), kernel, seconds);
  if (!baseline) return baseline.error();
  shared.enter(Phase::attacks);
  std::this_thread::sleep_for(
      folder ? std::max(warm_up, acquaintance(attempt.processes, cap_permille / 1000.0)) : warm_up);
  shared.enter(Phase::measures);
  const Result<Worked> attacked = watch(attackers.processes(), kernel, seconds);
  if (!attacked) return attacked.error();
  shared.enter(Phase::ends);
  if (Status status = attackers.reach(shared, 2); !status) return status.error();

  Found found;
  double of_device = 0;
  for (const Report& report : shared.reports) {
    found.charged += report.charged_seconds;
    found.charged_interrupts += report.interrupt_seconds;
    of_device += report.device_seconds;
    found.answered += report.answered.load();
    found.refused += report.refused.load();
  }
  const double capacity = attacked.value().elapsed * cores;
  found.charged /= capacity;
  found.charged_interrupts /= capacity;
  const double longer = attacked.value().elapsed / baseline.value().elapsed;
  found.processes = (attacked.value().processes - of_device) / capacity;
  found.threads = (attacked.value().threads - longer * baseline.value().threads) / capacity;
  found.interrupts =
      (attacked.value().interrupts - longer * baseline.value().interrupts) / capacity;
  found.kernel_threads = kernel.threads();
  return found;
}

}  // namespace k2k::labs::escapes
