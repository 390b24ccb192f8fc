#include "cli/doctor_checks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/cores.hpp"
#include "cli/watch/bpf/readiness.hpp"
#include "control/folder.hpp"
#include "host/holders.hpp"
#include "host/limit.hpp"
#include "runtime/settings/policy_file.hpp"

namespace k2k::cli {

namespace {

// Numbers that Debian 12's C library does not define yet; the same on every architecture.
constexpr long cachestat_number = 451;
constexpr long landlock_create_ruleset_number = 444;
constexpr std::uint32_t landlock_version_flag = 1;

constexpr rlim_t files_wanted = 1024;
constexpr rlim_t files_needed = 64;
constexpr rlim_t locked_bytes_wanted = 8u << 20;
// Mappings of a process besides the stacks of work-items.
constexpr std::uint64_t maps_beside = 1000;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string because(int code) { return std::strerror(code); }

Check kernel_version() {
  utsname names{};
  ::uname(&names);
  int major = 0;
  int minor = 0;
  std::sscanf(names.release, "%d.%d", &major, &minor);
  const int version = major * 1000 + minor;
  const Grade grade = version >= 5015 ? Grade::ok : version >= 5004 ? Grade::warn : Grade::fail;
  return {"kernel", grade, fmt::format("Linux {}", names.release),
          "K2K is tested on 5.15 and later; before 5.4 membarrier and futex calls are missing",
          grade == Grade::ok ? "" : "apt install linux-image-amd64 && reboot"};
}

Check io_uring() {
  io_uring_params parameters{};
  const long ring = ::syscall(SYS_io_uring_setup, 4, &parameters);
  const std::string why =
      "batches file calls; without it, each transfer is a system call of its own";
  if (ring >= 0) {
    ::close(static_cast<int>(ring));
    return {"io_uring", Grade::ok, fmt::format("usable, features {:#x}", parameters.features), why,
            ""};
  }
  const int code = errno;
  const std::string disabled = first_line("/proc/sys/kernel/io_uring_disabled");
  return {"io_uring", Grade::warn,
          fmt::format("io_uring_setup: {} (kernel.io_uring_disabled = {})", because(code),
                      disabled.empty() ? "not there" : disabled),
          why,
          disabled.empty() || disabled == "0" ? "allow io_uring_setup in the container's seccomp "
                                                "profile"
                                              : "sysctl -w kernel.io_uring_disabled=0"};
}

Check userfaultfd() {
  constexpr int user_mode_only = 1;
  const long fd = ::syscall(SYS_userfaultfd, O_CLOEXEC | user_mode_only);
  const std::string why = "the shared-memory laboratory measures page faults with it";
  if (fd >= 0) {
    ::close(static_cast<int>(fd));
    return {"userfaultfd", Grade::ok, "usable", why, ""};
  }
  return {"userfaultfd", Grade::warn, because(errno), why,
          "sysctl -w vm.unprivileged_userfaultfd=1"};
}

// Opens an anonymous file in a folder of ordinary files; -1 on failure.
int temporary_file() {
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = folder != nullptr && *folder != '\0' ? folder : "/tmp";
  return ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

Check cachestat() {
  struct {
    std::uint64_t offset, length;
  } range{0, 0};
  std::uint64_t pages[5] = {};
  const int fd = temporary_file();
  const long result = ::syscall(cachestat_number, fd, &range, pages, 0);
  const int code = errno;
  if (fd >= 0) ::close(fd);
  const std::string why = "tells which part of a file is in the page cache; else mincore is used";
  if (result == 0) return {"cachestat", Grade::ok, "usable", why, ""};
  return {"cachestat", Grade::warn, because(code), why,
          "use Linux 6.5 or later, or allow system call 451 in the container's seccomp profile"};
}

Check nowait_reads() {
  const std::string why =
      "serves a read from the page cache without a hand-off of the poller's role";
  const int fd = temporary_file();
  char byte = 'k';
  iovec piece{&byte, 1};
  const bool written = fd >= 0 && ::pwrite(fd, &byte, 1, 0) == 1;
  errno = fd >= 0 && !written ? ENOSPC : errno;
  const ssize_t read = written ? preadv2(fd, &piece, 1, 0, RWF_NOWAIT) : -1;
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (read == 1)
    return {"RWF_NOWAIT", Grade::ok, "a temporary file was read without waiting", why, ""};
  return {"RWF_NOWAIT", Grade::warn, because(code), why,
          "point TMPDIR at ext4, XFS, Btrfs or tmpfs, where the files that kernels read should be"};
}

Check membarrier() {
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  const std::string why = "lets the server wake a sleeping device without a fence a request";
  const bool has = commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
  if (has) return {"membarrier", Grade::ok, fmt::format("commands {:#x}", commands), why, ""};
  return {"membarrier", Grade::warn, commands < 0 ? because(errno) : "no expedited command", why,
          "allow membarrier in the container's seccomp profile"};
}

Check clock_source() {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  const std::string source = first_line(folder + "current_clocksource");
  const std::string why = "costs of tens of nanoseconds are measured with the time-stamp counter";
  if (source.empty()) {
    return {"clock", Grade::warn, "Linux does not tell its clock source", why, ""};
  }
  // Guests of a hypervisor with a paravirtual clock also read the clock without a system call.
  if (source == "tsc" || source == "kvm-clock") return {"clock", Grade::ok, source, why, ""};
  return {"clock", Grade::warn, source, why,
          fmt::format("echo tsc > {}current_clocksource", folder)};
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

Check open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const Grade grade = limit.rlim_cur >= files_wanted   ? Grade::ok
                      : limit.rlim_cur >= files_needed ? Grade::warn
                                                       : Grade::fail;
  return {"open files", grade, limit_text(limit.rlim_cur),
          "every file that a kernel keeps open counts",
          grade == Grade::ok ? "" : fmt::format("ulimit -n {}", files_wanted)};
}

Check locked_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool enough = limit.rlim_cur >= locked_bytes_wanted;
  return {"locked memory", enough ? Grade::ok : Grade::warn, limit_text(limit.rlim_cur) + " bytes",
          "io_uring and pinned buffers take locked memory before Linux 5.12",
          enough ? "" : fmt::format("ulimit -l {}", locked_bytes_wanted / 1024)};
}

// Work-items that may be on the device, each with a stack and its guard page.
std::uint64_t stacks_of(const RuntimeConfig& config) {
  const std::uint32_t units = config.device.compute_units != 0 ? config.device.compute_units
                                                               : std::max(usable_cores(), 2u) - 1;
  return std::uint64_t{units} * config.device.resident_waves * config.device.wave_lanes;
}

Check memory_maps(const RuntimeConfig& config) {
  const std::string text = first_line("/proc/sys/vm/max_map_count");
  const std::uint64_t limit = std::strtoull(text.c_str(), nullptr, 10);
  const std::uint64_t needed = 2 * stacks_of(config) + maps_beside;
  const std::string why = "each stack of a work-item and its guard page may be a mapping";
  if (text.empty()) return {"memory maps", Grade::warn, "the limit is not readable", why, ""};
  if (limit >= needed) {
    return {"memory maps", Grade::ok, fmt::format("{} permitted, {} at most used", limit, needed),
            why, ""};
  }
  return {"memory maps", Grade::warn, fmt::format("{} permitted, {} may be used", limit, needed),
          why,
          fmt::format("sysctl -w vm.max_map_count={}, or lower device.resident_waves", needed)};
}

Check overcommit(const RuntimeConfig& config) {
  const std::string mode = first_line("/proc/sys/vm/overcommit_memory");
  const std::uint64_t bytes = stacks_of(config) * config.device.stack_bytes;
  const std::string why = fmt::format(
      "the device reserves {} MiB of address space and touches what is used", bytes >> 20);
  if (mode != "2") {
    return {"overcommit", Grade::ok, fmt::format("mode {}", mode.empty() ? "unknown" : mode), why,
            ""};
  }
  return {"overcommit", Grade::warn, "mode 2: reserved memory counts as used", why,
          "sysctl -w vm.overcommit_memory=0, or lower device.stack_bytes"};
}

Check processors() {
  const std::uint32_t count = usable_cores();
  return {"processors", count >= 2 ? Grade::ok : Grade::warn, fmt::format("{} usable", count),
          "with one, device and server share it: every call costs two context switches",
          count >= 2 ? ""
                     : "give the machine or container two CPUs, and set device.spin_us = 0 "
                       "and server.spin_us = 0"};
}

Check huge_pages() {
  const std::string text = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string why = "the syscall area and large buffers take fewer entries of the TLB";
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return {"huge pages", Grade::warn, "this Linux has no transparent huge pages", why, ""};
  }
  const std::string mode = text.substr(open + 1, close - open - 1);
  if (mode != "never") return {"huge pages", Grade::ok, mode, why, ""};
  return {"huge pages", Grade::warn, mode, why,
          "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Check schedule_statistics() {
  const std::string text = first_line("/proc/self/schedstat");
  const std::string why = "the observer of service threads reads run and wait times from it";
  if (!text.empty()) return {"schedstat", Grade::ok, text, why, ""};
  return {"schedstat", Grade::warn, "/proc/self/schedstat is not there", why,
          "use a Linux with CONFIG_SCHED_INFO"};
}

Check pressure() {
  const std::string text = first_line("/proc/pressure/cpu");
  const std::string why = "tells the governor how long other programs wait for the CPU";
  if (!text.empty()) return {"pressure", Grade::ok, text, why, ""};
  return {"pressure", Grade::warn, "/proc/pressure/cpu is not readable", why, "boot with psi=1"};
}

Check landlock() {
  const long version = ::syscall(landlock_create_ruleset_number, nullptr, 0, landlock_version_flag);
  const int code = errno;
  const std::string why =
      "server.walls keeps service threads below the roots of a policy with it; \"strict\" does not "
      "start without";
  if (version > 0) return {"Landlock", Grade::ok, fmt::format("version {}", version), why, ""};
  return {"Landlock", Grade::warn, because(code), why,
          code == EOPNOTSUPP ? "boot with lsm=landlock,..."
                             : "use Linux 5.13 or later, and allow landlock_* in the container's "
                               "seccomp profile"};
}

Check seccomp() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  const long answer = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
  const int code = errno;
  const std::string why =
      "server.walls lets Linux refuse service threads what the policy refuses kernels; \"strict\" "
      "does not start without";
  if (answer == 0) return {"seccomp", Grade::ok, "filters can answer with an errno", why, ""};
  return {"seccomp", Grade::warn, because(code), why,
          "use a Linux with CONFIG_SECCOMP_FILTER, and allow seccomp in the container's profile"};
}

// The lowest and the first unusable address of a program on x86-64; a fixed mapping below the first
// needs a privilege.
constexpr std::uint64_t address_least = 65'536;
constexpr std::uint64_t address_end = (std::uint64_t{1} << 47) - 4096;

std::string range_text(const PolicyMemory::Range& range) {
  return fmt::format("{:#x}+{}", range.address, range.bytes);
}

// Two of the ranges that overlap; nullptr: none.
const PolicyMemory::Range* range_in_another(const std::vector<PolicyMemory::Range>& ranges) {
  for (const PolicyMemory::Range& range : ranges) {
    for (const PolicyMemory::Range& other : ranges) {
      if (&range != &other && range.address >= other.address &&
          range.address - other.address < other.bytes) {
        return &range;
      }
    }
  }
  return nullptr;
}

// A policy is read here as a runtime reads it. The addresses are of another process than this one.
Check memory_ranges(const RuntimeConfig& config) {
  const std::string why =
      "a kernel's calls reach all memory of the process, unless a policy names ranges";
  const auto check = [&why](Grade grade, std::string found, std::string fix = "") {
    return Check{"memory ranges", grade, std::move(found), why, std::move(fix)};
  };
  if (config.server.policy_file.empty()) return check(Grade::ok, "none: server.policy is no file");
  const Result<PolicyMemory> memory = memory_of_policy(config.server.policy_file);
  if (!memory) return check(Grade::fail, memory.error().message, "mend what it names");
  if (!memory.value().is_confined) return check(Grade::ok, "none: the policy has no memory.ranges");
  const std::vector<PolicyMemory::Range>& ranges = memory.value().ranges;
  const bool of_kernels = memory.value().of_kernels;
  if (!of_kernels && ranges.empty()) {
    return check(Grade::warn, "an empty list: no call can name memory",
                 "memory.ranges = [\"kernels\"]");
  }
  const auto beyond = std::ranges::find_if(ranges, [](const PolicyMemory::Range& range) {
    return range.address < address_least || range.address >= address_end ||
           range.bytes > address_end - range.address;
  });
  if (beyond != ranges.end()) {
    return check(Grade::warn,
                 fmt::format("{} is not mapped as a whole in any program: addresses are {:#x} to "
                             "{:#x}",
                             range_text(*beyond), address_least, address_end - 1),
                 "let the program name the address and the bytes of its own memory");
  }
  std::string found = of_kernels ? "\"kernels\"" : "";
  if (!ranges.empty()) {
    found += fmt::format(
        "{}{} of the program's addresses; only that process knows whether {} "
        "mapped there",
        of_kernels ? " and " : "", ranges.size(), ranges.size() == 1 ? "it is" : "they are");
  }
  if (!of_kernels) {
    return check(Grade::warn, found + "; without \"kernels\", wrappers and stacks are refused",
                 "add \"kernels\" to memory.ranges");
  }
  if (const PolicyMemory::Range* const inner = range_in_another(ranges); inner != nullptr) {
    return check(Grade::warn, fmt::format("{}; {} begins in another", found, range_text(*inner)),
                 "name one range for both: a buffer must lie in one of them");
  }
  return check(Grade::ok, found);
}

Check host_limit() {
  const std::string why = "the administrator's limit on the CPU time of all runtimes' requests";
  const host::Place place = host::place_of(host::override_path());
  const Result<std::optional<double>> limit = host::read_limit(place);
  if (!limit) {
    return {"host limit", Grade::fail, limit.error().message, why, "mend what it names"};
  }
  if (!limit.value()) return {"host limit", Grade::ok, "none (" + place.path + ")", why, ""};
  const Result<host::Holders> holders = host::list_holders(place);
  if (!holders) {
    return {"host limit", Grade::fail, holders.error().message, why, "mend what it names"};
  }
  const std::string found =
      fmt::format("{:.4g} % of the CPU time of all cores, shared by {} ({})", *limit.value() * 100,
                  holders.value().list.size(), place.path);
  if (!holders.value().crowded) return {"host limit", Grade::ok, found, why, ""};
  return {"host limit", Grade::warn, found + ", and more runtimes than are listed", why,
          fmt::format("find the user who fills {}/holders: ls -l", place.path)};
}

Check control_socket(const RuntimeConfig& config) {
  const std::string why = "k2k ctl and k2k top reach running processes through it";
  if (!config.control.socket)
    return {"control", Grade::ok, "off (control.socket = false)", why, ""};
  const Result<control::Folder> folder = control::own_folder();
  if (folder) return {"control", Grade::ok, folder.value().path, why, ""};
  return {"control", Grade::warn, folder.error().message, why, "mend what it names"};
}

std::string graphics_nodes() {
  std::string found;
  for (const char* node : {"/dev/nvidia0", "/dev/kfd"}) {
    if (::access(node, F_OK) == 0) found += (found.empty() ? "" : ", ") + std::string(node);
  }
  return found.empty() ? "none" : found;
}

Check graphics_processor() {
  if (on_gpu::round_trip == nullptr) {
    const bool amd = ::access("/dev/kfd", F_OK) == 0;
    return {"GPU", Grade::ok, graphics_nodes() + "; this k2k has kernels for the cpu backend only",
            "kernels run on the cpu backend, which needs no GPU",
            graphics_nodes() == "none" ? ""
            : amd                      ? "./dev build --preset hip"
                                       : "./dev build --preset cuda"};
  }
  RuntimeConfig config;
  config.operator_settings = false;
  config.backend = on_gpu::backend_name();
  const std::string why = fmt::format("backend = \"{}\" runs kernels on it", config.backend);
  const Result<Runtime> runtime = Runtime::create(config);
  if (runtime) return {"GPU", Grade::ok, runtime.value().device().name, why, ""};
  return {"GPU", Grade::warn, runtime.error().message, why, "mend what it names"};
}

Check tracepoints() {
  const std::string why =
      "k2k watch measures by BPF tracepoints behind which kernel thread programs wait; by counters "
      "it estimates";
  const std::optional<Error> missing = watch::no_bpf();
  if (!missing) return {"BPF", Grade::ok, "k2k watch can use tracepoints", why, ""};
  const std::string found = "k2k watch uses counters alone: " + missing->message;
  if (missing->code == EPERM) return {"BPF", Grade::ok, found, why, ""};
  return {"BPF", Grade::warn, found, why, "mend what it names, or leave it so"};
}

Check round_trip(const RuntimeConfig& config) {
  if (on_gpu::round_trip != nullptr && config.backend == on_gpu::backend_name()) {
    return on_gpu::round_trip(config);
  }
  return on_cpu::round_trip(config);
}

}  // namespace

std::vector<Check> examine(const RuntimeConfig& config) {
  return {kernel_version(),     processors(),          clock_source(),      io_uring(),
          nowait_reads(),       cachestat(),           membarrier(),        userfaultfd(),
          open_files(),         locked_memory(),       memory_maps(config), overcommit(config),
          huge_pages(),         schedule_statistics(), pressure(),          seccomp(),
          landlock(),           memory_ranges(config), host_limit(),        control_socket(config),
          graphics_processor(), tracepoints(),         round_trip(config)};
}

}  // namespace k2k::cli
