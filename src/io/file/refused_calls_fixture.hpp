#pragma once
// A child process in which Linux refuses a system call, like the filter of a container. For tests;
// never installed.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace k2k::io {

inline constexpr int no_filter = 77;

// `flags`: only where the low word of the first argument has one of these bits; 0: always.
inline bool refuse_call(unsigned number, unsigned code, unsigned flags = 0) {
  const unsigned char over = flags == 0 ? 2 : 0;  // The look at the argument.
  std::array<sock_filter, 6> rules = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, over, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{static_cast<unsigned short>(rules.size()), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// The exit status of a child that runs `body` with call `number` failing with `code`; no_filter if
// the filter cannot be installed. `flags` as above.
template <class Body>
int where_refused(unsigned number, unsigned code, Body body, unsigned flags = 0) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refuse_call(number, code, flags) ? body() : no_filter);
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace k2k::io
