#include "services/policy.hpp"

#include <array>
#include <bit>
#include <cerrno>

#include "calls/rows.hpp"
#include "router/door/files.hpp"

namespace k2k::services {

namespace {

struct Refusal {
  std::uint16_t number;
  const char* why;
};

// Calls that act on the calling thread or process as a whole: the caller would be a service thread,
// not the work-item (class 3 of the thesis, section 3.4, and similar calls).
constexpr Refusal refusals[] = {
    {12, "brk moves the heap of the host program"},
    {13, "rt_sigaction changes signal handlers of the host program"},
    {14, "rt_sigprocmask acts on the service thread"},
    {15, "rt_sigreturn returns from no handler"},
    {24, "sched_yield acts on the service thread"},
    {34, "pause never ends on a service thread"},
    {37, "alarm ends the host process"},
    {38, "setitimer sends signals to the host process"},
    {56, "clone copies the host process"},
    {57, "fork copies the host process"},
    {58, "vfork copies the host process"},
    {59, "execve replaces the host process"},
    {60, "exit ends the service thread"},
    {62, "kill sends signals to the host process, and others of its user"},
    {80, "chdir moves the host process"},
    {81, "fchdir moves the host process"},
    {95, "umask changes the host process"},
    {101, "ptrace acts on the service thread"},
    {105, "setuid changes the service thread alone"},
    {106, "setgid changes the service thread alone"},
    {109, "setpgid moves the host process"},
    {112, "setsid moves the host process"},
    {113, "setreuid changes the service thread alone"},
    {114, "setregid changes the service thread alone"},
    {116, "setgroups changes the service thread alone"},
    {117, "setresuid changes the service thread alone"},
    {119, "setresgid changes the service thread alone"},
    {122, "setfsuid changes the service thread alone"},
    {123, "setfsgid changes the service thread alone"},
    {126, "capset changes the service thread alone"},
    {128, "rt_sigtimedwait takes signals meant for the host program"},
    {130, "rt_sigsuspend never ends on a service thread"},
    {131, "sigaltstack acts on the service thread"},
    {135, "personality changes the service thread alone"},
    {141, "setpriority acts on the service thread"},
    {142, "sched_setparam acts on the service thread"},
    {144, "sched_setscheduler acts on the service thread"},
    {154, "modify_ldt changes the host process' segments"},
    {155, "pivot_root moves the host process"},
    {157, "prctl acts on the service thread"},
    {158, "arch_prctl changes the service thread's registers"},
    {160, "setrlimit limits the host process"},
    {161, "chroot moves the host process"},
    {172, "iopl changes the service thread alone"},
    {173, "ioperm changes the service thread alone"},
    {186, "gettid names the service thread"},
    {200, "tkill ends the host process"},
    {203, "sched_setaffinity acts on the service thread"},
    {206, "io_setup has kernel threads work that no cap counts"},
    {209, "io_submit has kernel threads work that no cap counts"},
    {218, "set_tid_address acts on the service thread"},
    {219, "restart_syscall resumes nothing"},
    {222, "timer_create sends signals to the host process"},
    {231, "exit_group ends the host process"},
    {234, "tgkill ends the host process"},
    {238, "set_mempolicy acts on the service thread"},
    {251, "ioprio_set acts on the service thread"},
    {256, "migrate_pages moves the host process' memory"},
    {272, "unshare acts on the service thread"},
    {273, "set_robust_list acts on the service thread"},
    {302, "prlimit64 limits the host process"},
    {308, "setns acts on the service thread"},
    {311, "process_vm_writev writes the host process' memory"},
    {314, "sched_setattr acts on the service thread"},
    {317, "seccomp acts on the service thread"},
    {322, "execveat replaces the host process"},
    {323, "userfaultfd takes the host process' page faults"},
    {334, "rseq acts on the service thread"},
    {424, "pidfd_send_signal sends signals to the host process"},
    {425, "io_uring_setup has kernel threads work that no cap counts"},
    {426, "io_uring_enter has kernel threads work that no cap counts"},
    {427, "io_uring_register has kernel threads work that no cap counts"},
    {435, "clone3 copies the host process"},
    {440, "process_madvise takes memory of the host process"},
    {446, "landlock_restrict_self acts on the service thread"},
    {448, "process_mrelease takes memory of the host process"},
    {450, "set_mempolicy_home_node acts on the host process"},
    {462, "mseal seals the host process' memory"},
};

// Its answer would be an address that the device may not be able to follow.
constexpr std::uint16_t mmap_number = 9;

constexpr bool is_pointer(calls::Kind kind) {
  return kind != calls::Kind::none && kind != calls::Kind::value &&
         kind != calls::Kind::descriptor && kind != calls::Kind::address;
}

// Bit i: parameter i points to something.
constexpr std::array<std::uint8_t, calls::row_count> pointers_of_row = [] {
  std::array<std::uint8_t, calls::row_count> masks{};
  for (std::size_t row = 0; row < masks.size(); ++row) {
    for (unsigned index = 0; index < calls::parameters_max; ++index) {
      if (is_pointer(calls::rows[row].parameters[index].kind)) {
        masks[row] = static_cast<std::uint8_t>(masks[row] | 1u << index);
      }
    }
  }
  return masks;
}();

}  // namespace

std::uint64_t reach_of(const calls::Parameter& parameter, const Request& request) {
  switch (parameter.kind) {
    case calls::Kind::path:
    case calls::Kind::opaque:
      return 1;
    case calls::Kind::in_bytes:
    case calls::Kind::out_bytes:
      return request.arguments[parameter.size_from];
    case calls::Kind::in_sized:
    case calls::Kind::out_sized:
    case calls::Kind::in_struct:
    case calls::Kind::out_struct:
    case calls::Kind::inout_struct:
      return parameter.bytes;
    default:
      return 0;
  }
}

const char* refusal_of(std::uint16_t number) {
  for (const Refusal& refusal : refusals) {
    if (refusal.number == number) return refusal.why;
  }
  return nullptr;
}

std::int64_t admit(const Request& request, Openness openness, const backend::Backend& backend,
                   const router::Files& files) {
  if (request.row < 0) {
    if (request.number >= call_number_end || openness == Openness::known_only) return -ENOSYS;
    return refusal_of(request.number) == nullptr ? 0 : -EPERM;
  }
  const calls::Row& row = calls::rows[request.row];
  if (row.number == mmap_number && !backend.info().reaches_host_pages) return -ENOTSUP;
  unsigned pointers = pointers_of_row[static_cast<std::size_t>(request.row)];
  for (; pointers != 0; pointers &= pointers - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(pointers));
    const std::uint64_t address = request.arguments[index];
    const std::uint64_t bytes = reach_of(row.parameters[index], request);
    if (address == 0 || bytes == 0) continue;
    const auto* const memory = reinterpret_cast<const void*>(address);
    if (backend.host_may_access(memory, bytes)) continue;
    if (!calls::takes_registered_memory(request.number) || !files.takes(memory, bytes))
      return -EFAULT;
  }
  return 0;
}

}  // namespace k2k::services
