#include "cli/watch/steer/scheduling.hpp"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

namespace k2k::watch {

namespace {

// As in linux/sched/types.h, whose name collides with newer C libraries'. Its first version.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};

constexpr std::uint32_t deadline_policy = 6;
constexpr std::uint64_t reset_on_fork = 1;
constexpr std::uint64_t cap_period_ns = 10'000'000;

// A set for cores_max cores.
class CoreSet {
 public:
  CoreSet() : set_(CPU_ALLOC(cores_max)) { CPU_ZERO_S(bytes(), set_); }
  ~CoreSet() { CPU_FREE(set_); }
  CoreSet(const CoreSet&) = delete;
  CoreSet& operator=(const CoreSet&) = delete;
  [[nodiscard]] static std::size_t bytes() { return CPU_ALLOC_SIZE(cores_max); }
  [[nodiscard]] cpu_set_t* get() const { return set_; }

 private:
  cpu_set_t* set_;
};

// The rest of the line that begins with `name`, without blanks; empty if there is none.
std::string value_in(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::string value;
    rest >> value;
    return value;
  }
  return {};
}

Error refused(int error) { return {error, std::strerror(error)}; }

}  // namespace

Policy capped_at(double fraction) {
  Policy policy;
  policy.policy = deadline_policy;
  policy.flags = reset_on_fork;  // Without it, the thread could not start others.
  policy.runtime_ns = static_cast<std::uint64_t>(fraction * static_cast<double>(cap_period_ns));
  policy.deadline_ns = cap_period_ns;
  policy.period_ns = cap_period_ns;
  return policy;
}

std::optional<ThreadStat> find_thread(const Roots& roots, int thread) {
  const Result<std::string> stat = read_text(fmt::format("{}/{}/stat", roots.proc, thread));
  return stat ? parse_thread(stat.value()) : std::nullopt;
}

Result<std::vector<int>> permitted_cores(const Roots& roots, int thread) {
  const std::string path = fmt::format("{}/{}/status", roots.proc, thread);
  const Result<std::string> status = read_text(path);
  if (!status) return status.error();
  const std::string list = value_in(status.value(), "Cpus_allowed_list:");
  auto cores = cores_of(list);
  if (!cores || cores->empty()) return Error{EBADMSG, path + " has no list of permitted cores"};
  return std::move(*cores);
}

bool may_cap(const Roots& roots) {
  const Result<std::string> status = read_text(roots.proc + "/self/status");
  if (!status) return false;
  const std::string effective = value_in(status.value(), "CapEff:");
  std::uint64_t capabilities = 0;
  std::from_chars(effective.data(), effective.data() + effective.size(), capabilities, 16);
  return (capabilities & std::uint64_t{1} << CAP_SYS_NICE) != 0;
}

bool may_change(const Roots& roots, int thread) {
  struct stat facts{};
  const bool own = ::stat(fmt::format("{}/{}", roots.proc, thread).c_str(), &facts) == 0 &&
                   facts.st_uid == ::geteuid();
  return own || may_cap(roots);
}

Result<std::vector<int>> cores_of_thread(int thread) {
  const CoreSet set;
  if (::sched_getaffinity(thread, CoreSet::bytes(), set.get()) != 0) return refused(errno);
  std::vector<int> cores;
  for (int core = 0; core < cores_max; ++core) {
    if (CPU_ISSET_S(static_cast<std::size_t>(core), CoreSet::bytes(), set.get())) {
      cores.push_back(core);
    }
  }
  return cores;
}

Status set_cores(int thread, const std::vector<int>& cores) {
  const CoreSet set;
  for (const int core : cores) {
    CPU_SET_S(static_cast<std::size_t>(core), CoreSet::bytes(), set.get());
  }
  if (::sched_setaffinity(thread, CoreSet::bytes(), set.get()) != 0) return refused(errno);
  return {};
}

Result<Policy> policy_of_thread(int thread) {
  SchedulingAttributes found{};
  if (::syscall(SYS_sched_getattr, thread, &found, sizeof found, 0) != 0) return refused(errno);
  return Policy{found.policy,  found.flags,    found.nice,  found.priority,
                found.runtime, found.deadline, found.period};
}

Status set_policy(int thread, const Policy& policy) {
  SchedulingAttributes wanted{sizeof wanted,      policy.policy,   policy.flags,
                              policy.nice,        policy.priority, policy.runtime_ns,
                              policy.deadline_ns, policy.period_ns};
  if (::syscall(SYS_sched_setattr, thread, &wanted, 0) != 0) return refused(errno);
  return {};
}

}  // namespace k2k::watch
