// Goal: the program says of every number what the policy says, but for K2K's own needs, and a call
// passes few instructions.

#include "services/walls/call_filter.hpp"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "services/policy.hpp"

namespace k2k::services {
namespace {

constexpr std::uint32_t passes = SECCOMP_RET_ALLOW;
constexpr std::uint32_t eperm = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t enosys = SECCOMP_RET_ERRNO | ENOSYS;
constexpr pid_t own_process = 4711;

struct Run {
  std::uint32_t action = 0;
  std::size_t instructions = 0;
};

// As Linux runs it; it would refuse a program that a jump leaves.
Run run_filter(const FilterProgram& program, const seccomp_data& data) {
  Run run;
  std::uint32_t loaded = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    ++run.instructions;
    const sock_filter& step = program[at];
    const auto jump = [&](bool holds) { at += holds ? step.jt : step.jf; };
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&loaded, reinterpret_cast<const char*>(&data) + step.k, sizeof(loaded));
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump(loaded == step.k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump(loaded >= step.k);
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jump((loaded & step.k) != 0);
        break;
      case BPF_JMP | BPF_JA:
        at += step.k;
        break;
      case BPF_RET | BPF_K:
        run.action = step.k;
        return run;
      default:
        ADD_FAILURE() << "an instruction that no filter has: " << step.code;
        return run;
    }
  }
  ADD_FAILURE() << "the program ends without an answer";
  return run;
}

seccomp_data call(std::uint64_t number, std::uint64_t first = 0, std::uint64_t third = 0) {
  seccomp_data data{};
  data.nr = static_cast<int>(static_cast<std::uint32_t>(number));
  data.arch = AUDIT_ARCH_X86_64;
  data.args[0] = first;
  data.args[2] = third;
  return data;
}

std::uint32_t answer_of(const FilterProgram& program, const seccomp_data& data) {
  return run_filter(program, data).action;
}

bool refused_by_any(std::uint16_t number) { return refusal_of(number) != nullptr; }
FilterProgram filter_of_any() { return filter_program(refused_by_any, own_process); }
FilterProgram filter_of_none() {
  return filter_program([](std::uint16_t) { return true; }, own_process);
}

TEST(CallFilter, passes_what_the_policy_permits) {
  const FilterProgram program = filter_of_any();
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    if (refused_by_any(number)) continue;
    EXPECT_EQ(answer_of(program, call(number)), passes) << number;
  }
}

TEST(CallFilter, refuses_what_the_policy_refuses) {
  const FilterProgram program = filter_of_any();
  for (const std::uint64_t number :
       {SYS_execve, SYS_fork, SYS_vfork, SYS_kill, SYS_tkill, SYS_ptrace, SYS_setuid, SYS_chdir,
        SYS_unshare, SYS_execveat, SYS_pidfd_send_signal, SYS_setrlimit}) {
    EXPECT_EQ(answer_of(program, call(number)), eperm) << number;
  }
}

TEST(CallFilter, follows_the_policy_number_by_number) {
  const auto odd = [](std::uint16_t number) { return number % 2 == 1; };
  const FilterProgram program = filter_program(odd, own_process);  // Jumps are long here.
  ASSERT_GT(program.size(), 1000u);
  for (std::uint16_t number = 500; number < call_number_end; ++number) {
    EXPECT_EQ(answer_of(program, call(number)), odd(number) ? eperm : passes) << number;
  }
}

TEST(CallFilter, refuses_numbers_that_no_kernel_of_k2k_can_make) {
  const FilterProgram program = filter_of_any();
  constexpr std::uint32_t of_x32 = 0x40000000;
  for (const std::uint32_t number : {1024u, 70'000u, of_x32, of_x32 + SYS_execve, UINT32_MAX}) {
    EXPECT_EQ(answer_of(program, call(number)), eperm) << number;
  }
  seccomp_data other = call(SYS_read);
  other.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(answer_of(program, other), eperm);
}

TEST(CallFilter, starts_threads_but_no_processes) {
  constexpr std::uint64_t of_thread = 0x3d0f00;  // As the C library starts threads.
  const FilterProgram program = filter_of_any();
  EXPECT_EQ(answer_of(program, call(SYS_clone3)), enosys);
  EXPECT_EQ(answer_of(program, call(SYS_clone, of_thread)), passes);
  EXPECT_EQ(answer_of(program, call(SYS_clone, SIGCHLD)), eperm);
}

TEST(CallFilter, looks_at_arguments_of_own_needs) {
  const FilterProgram program = filter_of_any();
  for (const std::uint64_t option : {15, 29, 38}) {
    EXPECT_EQ(answer_of(program, call(SYS_prctl, option)), passes) << option;
  }
  for (const std::uint64_t option : {1, 4, 22, 36, 0}) {
    EXPECT_EQ(answer_of(program, call(SYS_prctl, option)), eperm) << option;
  }
  EXPECT_EQ(answer_of(program, call(SYS_tgkill, own_process)), passes);
  EXPECT_EQ(answer_of(program, call(SYS_tgkill, own_process + 1)), eperm);
  EXPECT_EQ(answer_of(program, call(SYS_prlimit64, 0, 0)), passes);
  EXPECT_EQ(answer_of(program, call(SYS_prlimit64, 0, 1)), eperm);
  EXPECT_EQ(answer_of(program, call(SYS_prlimit64, 0, 1ull << 32)), eperm);
}

TEST(CallFilter, leaves_k2k_its_own_calls_under_a_policy_that_permits_none) {
  const FilterProgram program = filter_of_none();
  for (const std::uint64_t number : {SYS_futex, SYS_pread64, SYS_mmap, SYS_restart_syscall}) {
    EXPECT_EQ(answer_of(program, call(number)), passes) << number;
  }
  for (const std::uint64_t number : {SYS_socket, SYS_connect, SYS_open, SYS_unlink, SYS_mount}) {
    EXPECT_EQ(answer_of(program, call(number)), eperm) << number;
  }
}

TEST(CallFilter, takes_few_instructions) {
  for (const FilterProgram& program : {filter_of_any(), filter_of_none()}) {
    ASSERT_LE(program.size(), std::size_t{BPF_MAXINSNS});
    for (std::uint16_t number = 0; number < call_number_end; ++number) {
      EXPECT_LE(run_filter(program, call(number)).instructions, 18u) << number;
    }
  }
}

}  // namespace
}  // namespace k2k::services
