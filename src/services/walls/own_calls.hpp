#pragma once
// The system calls that K2K's service threads make for themselves. The filter of these threads lets
// them pass although the policy refuses them to kernels (services/walls/call_filter.hpp).
//
// A call that a policy permits needs no row here.
//
// Constant data.

#include <sys/syscall.h>

#include <cstdint>

namespace k2k::services {

struct OwnCall {
  enum class When : std::uint8_t {
    always,
    argument_is,       // The low word of the argument is one of `values`.
    argument_has,      // The low word of the argument has a bit of values[0].
    argument_is_zero,  // The whole argument is zero.
    process_is_own,    // The low word of the argument is the number of this process.
    never_known,       // Answered by ENOSYS, so that the C library makes another call.
  };
  std::uint16_t number;
  When when = When::always;
  std::uint8_t argument = 0;
  std::uint32_t values[4] = {};  // 0 ends the list.
};

// Not all values are defined by the headers of Debian 12.
inline constexpr OwnCall own_calls[] = {
    // Threads: their start, memory, locks, sleeps and end. clone3() keeps its flags in memory,
    // which
    // a filter cannot read; the C library then makes clone().
    {SYS_clone3, OwnCall::When::never_known},
    {SYS_clone, OwnCall::When::argument_has, 0, {0x10000}},  // CLONE_THREAD
    {SYS_set_robust_list},
    {SYS_rseq},
    {SYS_gettid},
    {SYS_getpid},
    {SYS_sched_getaffinity},
    {SYS_sched_setaffinity},
    {SYS_sched_yield},
    {SYS_getcpu},
    {SYS_prctl, OwnCall::When::argument_is, 0, {15, 29, 38}},  // Name, timer slack, no privileges.
    {SYS_exit},
    {SYS_exit_group},
    {SYS_futex},
    {SYS_membarrier},
    {SYS_restart_syscall},  // Linux' own, behind a signal that stopped a sleep.
    {SYS_brk},
    {SYS_mmap},
    {SYS_munmap},
    {SYS_mremap},
    {SYS_mprotect},
    {SYS_madvise},
    {SYS_getrandom},
    {SYS_clock_gettime},
    {SYS_clock_getres},
    {SYS_clock_nanosleep},
    {SYS_nanosleep},
    {SYS_getrusage},
    {SYS_sysinfo},
    {SYS_uname},
    {SYS_prlimit64, OwnCall::When::argument_is_zero, 2},  // getrlimit() of the C library.
    // Signals: those that end a sleep, and the report of a crash.
    {SYS_rt_sigaction},
    {SYS_rt_sigprocmask},
    {SYS_rt_sigreturn},
    {SYS_sigaltstack},
    {SYS_tgkill, OwnCall::When::process_is_own, 0},
    // Walls of another runtime, which a function of the program creates.
    {SYS_seccomp},
    {SYS_landlock_create_ruleset},
    {SYS_landlock_add_rule},
    {SYS_landlock_restrict_self},
    // File data and its residency: the router, its rings, streams, answers to a waiting device.
    {SYS_read},
    {SYS_write},
    {SYS_readv},
    {SYS_writev},
    {SYS_pread64},
    {SYS_pwrite64},
    {SYS_preadv},
    {SYS_pwritev},
    {SYS_preadv2},
    {SYS_pwritev2},
    {SYS_lseek},
    {SYS_close},
    {SYS_openat},
    {SYS_readlink},
    {SYS_fcntl},
    {SYS_ioctl},
    {SYS_fstat},
    {SYS_newfstatat},
    {SYS_statx},
    {SYS_fstatfs},
    {SYS_fadvise64},
    {SYS_readahead},
    {SYS_mincore},
    {451},  // cachestat
    {SYS_io_uring_setup},
    {SYS_io_uring_enter},
    {SYS_io_uring_register},
    {SYS_process_vm_readv, OwnCall::When::process_is_own, 0},
    {SYS_process_vm_writev, OwnCall::When::process_is_own, 0},
    // Waits for descriptors.
    {SYS_poll},
    {SYS_ppoll},
    {SYS_select},
    {SYS_epoll_create1},
    {SYS_epoll_ctl},
    {SYS_epoll_wait},
    {SYS_epoll_pwait},
    {SYS_epoll_pwait2},
    {SYS_eventfd2},
    {SYS_getsockopt},
    {449},               // futex_waitv (server/waits/futex_waits.hpp)
    {SYS_timer_create},  // Of an accept that came too late (server/waits/attempt_timer.hpp).
    {SYS_timer_settime},
    {SYS_timer_delete},
    // Paths that are opened below the roots of a policy (services/rules/rooted_files.hpp).
    {SYS_openat2},
    {SYS_getcwd},
    {SYS_readlinkat},
    {SYS_faccessat2},
    {SYS_mkdirat},
    {SYS_unlinkat},
    {SYS_renameat2},
    // Opens that may write (services/opens/guarded_open.hpp).
    {SYS_dup3},
    {SYS_statfs},
    {SYS_access},
};

}  // namespace k2k::services
