#include "services/policy.hpp"

#include <asm/unistd.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "calls/rows.hpp"
#include "calls/table.hpp"
#include "router/door/files.hpp"
#include "services/admit_fixture.hpp"
#include "services/fake_backend_fixture.hpp"

namespace k2k::services {
namespace {

Request request_of(std::uint16_t number) {
  Request request;
  request.number = number;
  request.row = static_cast<std::int16_t>(calls::find(number));
  return request;
}

class PolicyTest : public testing::Test {
 protected:
  FakeBackend backend;
  router::Files files;
  char buffer[256] = {};

  std::int64_t admit_with(Request request, int argument, const void* address) {
    request.arguments[argument] = reinterpret_cast<std::uint64_t>(address);
    return admit(request, Openness::any, backend, files);
  }
  void hide_buffer() {
    backend.hidden_begin = reinterpret_cast<std::uintptr_t>(buffer);
    backend.hidden_end = backend.hidden_begin + sizeof(buffer);
  }
};

TEST_F(PolicyTest, refuses_what_would_end_replace_or_cripple_the_host_process) {
  for (const int number :
       {__NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_pause, __NR_clone,
        __NR_fork, __NR_vfork, __NR_execve, __NR_exit, __NR_ptrace, __NR_rt_sigsuspend,
        __NR_sigaltstack, __NR_arch_prctl, __NR_gettid, __NR_sched_setaffinity, __NR_exit_group,
        __NR_unshare, __NR_setns, __NR_seccomp, __NR_execveat, __NR_rseq, __NR_clone3, __NR_brk,
        __NR_rt_sigtimedwait, __NR_setuid, __NR_setgid, __NR_setreuid, __NR_setregid,
        __NR_setgroups, __NR_setresuid, __NR_setresgid, __NR_setfsuid, __NR_setfsgid, __NR_capset,
        __NR_personality, __NR_prctl, __NR_iopl, __NR_ioperm, __NR_landlock_restrict_self,
        // What acts on the process, and what no cap counts.
        __NR_alarm, __NR_chdir, __NR_chroot, __NR_fchdir, __NR_io_setup, __NR_io_submit,
        __NR_io_uring_enter, __NR_io_uring_register, __NR_io_uring_setup, __NR_ioprio_set,
        __NR_kill, __NR_pidfd_send_signal, __NR_prlimit64, __NR_process_vm_writev,
        __NR_sched_setattr, __NR_sched_setparam, __NR_sched_setscheduler, __NR_set_mempolicy,
        __NR_setitimer, __NR_setpriority, __NR_setrlimit, __NR_setsid, __NR_tgkill,
        __NR_userfaultfd, __NR_pkey_alloc, __NR_wait4, 335, 336, 460, 462, 471}) {
    const Request request = request_of(static_cast<std::uint16_t>(number));
    EXPECT_EQ(admit(request, Openness::any, backend, files), -EPERM) << number;
    ASSERT_NE(refusal_of(request.number), nullptr) << number;
    EXPECT_STRNE(refusal_of(request.number), "") << number;
  }
}

TEST_F(PolicyTest, refuses_only_calls_whose_rows_say_so) {
  for (const calls::Row& row : calls::rows) {
    const bool open = calls::is_open(calls::find(row.number));
    EXPECT_EQ(refusal_of(row.number) == nullptr, open) << row.name;
    EXPECT_EQ(admit(request_of(row.number), Openness::any, backend, files), open ? 0 : -EPERM)
        << row.name;
  }
}

TEST_F(PolicyTest, knows_only_the_basic_calls_though_more_have_rows) {
  int known = 0;
  for (const calls::Row& row : calls::rows) {
    const bool basic = calls::is_basic(calls::find(row.number));
    EXPECT_EQ(admit(request_of(row.number), Openness::known_only, backend, files),
              basic ? 0 : -ENOSYS)
        << row.name;
    if (basic && row.family != calls::Family::own) ++known;
  }
  EXPECT_EQ(known, 72);  // docs/reference/calls.md
  EXPECT_EQ(admit(request_of(__NR_membarrier), Openness::known_only, backend, files), -ENOSYS);
}

TEST_F(PolicyTest, passes_on_an_unknown_call_unless_only_known_ones_are_open) {
  const Request request = request_of(__NR_capget);
  ASSERT_LT(request.row, 0);
  EXPECT_EQ(admit(request, Openness::any, backend, files), 0);
  EXPECT_EQ(admit(request, Openness::known_only, backend, files), -ENOSYS);
}

TEST_F(PolicyTest, answers_a_number_that_is_no_call_with_enosys) {
  for (const std::uint32_t number : {1024u, 5000u, 0x7fffu, 0xfffeu}) {
    EXPECT_EQ(admit(request_of(static_cast<std::uint16_t>(number)), Openness::any, backend, files),
              -ENOSYS);
  }
}

TEST_F(PolicyTest, tells_a_closed_door_from_a_forbidden_room) {
  // With known_only, a dangerous call is as unknown as any other.
  EXPECT_EQ(admit(request_of(__NR_fork), Openness::known_only, backend, files), -ENOSYS);
}

TEST_F(PolicyTest, refuses_every_kind_of_pointer_the_host_cannot_reach) {
  struct Case {
    std::uint16_t number;
    int argument;
    int size_argument;
  };
  for (const Case& call :
       {Case{0, 1, 2}, Case{1, 1, 2}, Case{2, 0, -1}, Case{16, 2, -1}, Case{35, 0, -1},
        Case{35, 1, -1}, Case{44, 4, 5}, Case{45, 4, -1}, Case{45, 5, -1}, Case{98, 1, -1},
        Case{262, 1, -1}, Case{262, 2, -1}, Case{7, 0, 1}, Case{188, 1, -1}, Case{188, 2, 3},
        Case{232, 1, 2},
        // Vectors, messages, sets, masks, pages, handles.
        Case{19, 1, 2}, Case{20, 1, 2}, Case{46, 1, -1}, Case{47, 1, -1}, Case{299, 1, 2},
        Case{307, 1, 2}, Case{69, 1, 2}, Case{70, 1, -1}, Case{23, 1, 0}, Case{237, 3, 4},
        Case{27, 2, 1}, Case{303, 2, -1}, Case{304, 1, -1}, Case{457, 0, -1}, Case{463, 4, -1},
        Case{270, 5, -1}, Case{202, 0, -1}}) {
    SCOPED_TRACE(testing::Message() << call.number << " argument " << call.argument);
    Request request = request_of(call.number);
    if (call.size_argument >= 0) request.arguments[call.size_argument] = 16;
    EXPECT_EQ(admit_with(request, call.argument, buffer), 0);
    hide_buffer();
    EXPECT_EQ(admit_with(request, call.argument, buffer), -EFAULT);
    EXPECT_EQ(admit_with(request, call.argument, nullptr), 0) << "null is the call's business";
    backend.hidden_end = 0;
    backend.hidden_begin = ~std::uintptr_t{0};
  }
}

TEST_F(PolicyTest, looks_at_all_elements_of_an_array) {
  hide_buffer();
  Request request = request_of(__NR_poll);
  const char* const before = buffer - 4 * 8;
  request.arguments[1] = 4;
  EXPECT_EQ(admit_with(request, 0, before), 0);
  request.arguments[1] = 5;
  EXPECT_EQ(admit_with(request, 0, before), -EFAULT);
  request.arguments[1] = (~std::uint64_t{0} / 8) + 2;
  EXPECT_EQ(admit_with(request, 0, before), -EFAULT) << "its bytes do not wrap to a few";
}

TEST_F(PolicyTest, takes_an_int_as_linux_does) {
  hide_buffer();
  Request request = request_of(__NR_epoll_wait);
  request.arguments[2] = static_cast<std::uint64_t>(std::int64_t{-1});
  EXPECT_EQ(admit_with(request, 1, buffer), 0) << "the call itself refuses it";
  request.arguments[2] = 0x500000001;
  EXPECT_EQ(admit_with(request, 1, buffer), -EFAULT);
}

TEST_F(PolicyTest, maps_no_memory_for_a_device_that_does_not_reach_it) {
  EXPECT_EQ(admit(request_of(__NR_mmap), Openness::any, backend, files), 0);
  backend.facts.reaches_host_pages = false;
  EXPECT_EQ(admit(request_of(__NR_mmap), Openness::any, backend, files), -ENOTSUP);
  EXPECT_EQ(admit(request_of(__NR_munmap), Openness::any, backend, files), 0);
}

TEST_F(PolicyTest, gives_no_address_that_the_device_cannot_follow) {
  for (const int number : {__NR_mremap, __NR_shmat}) {
    SCOPED_TRACE(number);
    const Request request = request_of(static_cast<std::uint16_t>(number));
    backend.facts.reaches_host_pages = true;
    EXPECT_EQ(admit(request, Openness::any, backend, files), 0);
    backend.facts.reaches_host_pages = false;
    EXPECT_EQ(admit(request, Openness::any, backend, files), -ENOTSUP);
  }
}

TEST_F(PolicyTest, answers_no_usage_of_the_service_thread) {
  Request request = request_of(__NR_getrusage);
  for (const int who : {int{RUSAGE_SELF}, int{RUSAGE_CHILDREN}, 77}) {
    request.arguments[0] = static_cast<std::uint64_t>(who);
    EXPECT_EQ(admit(request, Openness::any, backend, files), 0) << who;
  }
  request.arguments[0] = RUSAGE_THREAD;
  EXPECT_EQ(admit_with(request, 1, buffer), -EPERM);
  request.arguments[0] |= std::uint64_t{1} << 32;  // Linux looks at 32 bits.
  EXPECT_EQ(admit_with(request, 1, buffer), -EPERM);
}

TEST_F(PolicyTest, refuses_as_the_table_says) {
  for (std::uint16_t number = 0; number < call_number_end; ++number) {
    const calls::Entry* const entry = calls::entry_of(number);
    const bool refused = entry != nullptr && entry->access == calls::Access::refused;
    EXPECT_EQ(refusal_of(number) != nullptr, refused) << number;
    EXPECT_EQ(admit(request_of(number), Openness::any, backend, files), refused ? -EPERM : 0)
        << number;
  }
}

TEST_F(PolicyTest, looks_at_the_whole_span_and_not_beyond_it) {
  hide_buffer();
  Request request = request_of(0);
  request.arguments[2] = 0;
  EXPECT_EQ(admit_with(request, 1, buffer), 0) << "nothing will be touched";
  request.arguments[2] = 1;
  EXPECT_EQ(admit_with(request, 1, buffer + sizeof(buffer) - 1), -EFAULT);
  EXPECT_EQ(admit_with(request, 1, buffer + sizeof(buffer)), 0);
  EXPECT_EQ(admit_with(request, 1, buffer - 1), 0);
  request.arguments[2] = 2;
  EXPECT_EQ(admit_with(request, 1, buffer - 1), -EFAULT);
}

TEST_F(PolicyTest, looks_at_an_argument_as_its_command_says) {
  hide_buffer();
  Request request = request_of(__NR_fcntl);
  request.arguments[1] = F_GETLK;
  EXPECT_EQ(admit_with(request, 2, buffer), -EFAULT);
  request.arguments[1] = F_SETFL;
  EXPECT_EQ(admit_with(request, 2, buffer), 0) << "a number";
  request = request_of(__NR_semctl);
  request.arguments[2] = GETALL;
  EXPECT_EQ(admit_with(request, 3, buffer), -EFAULT) << "whatever its number of elements";
  request.arguments[4] = 2;
  EXPECT_EQ(admit_with(request, 3, buffer), -EFAULT);
  request.arguments[2] = SETVAL;
  EXPECT_EQ(admit_with(request, 3, buffer), 0) << "a number";
}

TEST_F(PolicyTest, counts_the_bytes_behind_pointers_without_an_overflow) {
  const auto reach = [this](std::uint16_t number, std::size_t index, std::size_t size_index,
                            std::uint64_t size) {
    Request request = request_of(number);
    request.arguments[size_index] = size;
    return reach_of(calls::shapes[request.row], index, request);
  };
  constexpr std::uint64_t all = ~std::uint64_t{0};
  EXPECT_EQ(reach(__NR_readv, 1, 2, 3), 3 * sizeof(iovec));
  EXPECT_EQ(reach(__NR_readv, 1, 2, 1025), 0u) << "Linux refuses them, unread";
  EXPECT_EQ(reach(__NR_readv, 1, 2, all), 0u);
  EXPECT_EQ(reach(__NR_sendmmsg, 1, 2, 5000), 1024 * sizeof(mmsghdr));
  EXPECT_EQ(reach(__NR_msgsnd, 1, 2, 5), 13u);
  EXPECT_EQ(reach(__NR_msgsnd, 1, 2, all >> 1), (std::uint64_t{1} << 62) + 8);
  EXPECT_EQ(reach(__NR_msgsnd, 1, 2, all), 0u) << "Linux refuses it, unread";
  EXPECT_EQ(reach(__NR_select, 1, 0, 65), 16u);
  EXPECT_EQ(reach(__NR_select, 1, 0, 0xffffffff), 0u) << "an int below 0";
  EXPECT_EQ(reach(__NR_mbind, 3, 4, 65), 8u) << "Linux takes one bit less";
  EXPECT_EQ(reach(__NR_mbind, 3, 4, all), 1024u);
  EXPECT_EQ(reach(__NR_mincore, 2, 1, 4097), 2u);
  EXPECT_EQ(reach(__NR_move_pages, 2, 1, all), std::uint64_t{1} << 62);
}

TEST_F(PolicyTest, of_a_number_counts_the_bytes_as_that_of_a_request) {
  constexpr std::uint64_t numbers[] = {0, 1, 65, 4097, 0x80000000, 0xffffffff, ~std::uint64_t{0}};
  std::size_t pointers = 0;
  for (int row = 0; row < calls::row_count; ++row) {
    const calls::Shape& shape = calls::shapes[row];
    const auto index = static_cast<std::int16_t>(row);
    const Admission admission = admission_of(shape.number, index, Openness::any, true);
    if (admission.refusal != 0) continue;
    for (std::size_t at = 0; at < admission.count; ++at) {
      const Admission::Pointer& pointer = admission.pointers[at];
      ++pointers;
      for (const std::uint64_t number : numbers) {
        Request request = request_of(shape.number);
        for (std::uint64_t& word : request.arguments) word = number;
        EXPECT_EQ(reach_of(pointer, request), reach_of(shape, pointer.index, request))
            << shape.number << ", argument " << int{pointer.index};
      }
    }
  }
  EXPECT_GT(pointers, 250u);
}

TEST_F(PolicyTest, looks_at_no_pointer_where_the_host_reaches_all_memory) {
  hide_buffer();
  backend.facts.hides_memory = false;
  EXPECT_EQ(admit_with(request_of(__NR_stat), 0, buffer), 0);
  backend.facts.hides_memory = true;
  EXPECT_EQ(admit_with(request_of(__NR_stat), 0, buffer), -EFAULT);
}

}  // namespace
}  // namespace k2k::services
