#include "services/own_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <thread>

#include "base/own_process.hpp"

namespace k2k::services {
namespace {

constexpr std::uint64_t own_page = own_page_bytes;
constexpr std::uint64_t endless = ~std::uint64_t{0};

std::int64_t refused(long number, std::initializer_list<std::uint64_t> words) {
  Request request;
  request.number = static_cast<std::uint16_t>(number);
  std::size_t at = 0;
  for (const std::uint64_t word : words) request.arguments[at++] = word;
  return refuse_own(request);
}

// Three pages; the one in the middle is K2K's.
class OwnProcess : public testing::Test {
 protected:
  alignas(own_page) static inline char memory[3 * own_page];
  const std::uint64_t before = reinterpret_cast<std::uint64_t>(memory);
  const std::uint64_t own = before + own_page;
  const std::uint64_t behind = own + own_page;
  OwnMemory mark{memory + own_page, own_page};
};

TEST_F(OwnProcess, memory_is_not_unmapped_or_protected) {
  for (const long number : {SYS_munmap, SYS_mprotect, SYS_pkey_mprotect, SYS_remap_file_pages}) {
    EXPECT_EQ(refused(number, {own, own_page}), -EPERM) << number;
    EXPECT_EQ(refused(number, {before, own_page + 1}), -EPERM) << number;
    EXPECT_EQ(refused(number, {before, endless}), -EPERM) << "a size that wraps around";
    EXPECT_EQ(refused(number, {0, endless}), -EPERM) << number;
    EXPECT_EQ(refused(number, {before, own_page}), 0) << number;
    EXPECT_EQ(refused(number, {behind, own_page}), 0) << number;
    EXPECT_EQ(refused(number, {own, 0}), 0) << number;
  }
}

TEST_F(OwnProcess, memory_keeps_its_content) {
  for (const int advice : {MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_DONTFORK, MADV_WIPEONFORK,
                           MADV_DONTNEED_LOCKED, MADV_HWPOISON, 999}) {
    EXPECT_EQ(refused(SYS_madvise, {own, own_page, static_cast<std::uint64_t>(advice)}), -EPERM)
        << advice;
  }
  EXPECT_EQ(refused(SYS_madvise, {own, own_page, MADV_WILLNEED}), 0);
  EXPECT_EQ(refused(SYS_madvise, {behind, own_page, MADV_DONTNEED}), 0);
}

TEST_F(OwnProcess, memory_is_not_moved_or_replaced) {
  EXPECT_EQ(refused(SYS_mmap, {own, own_page, 0, MAP_FIXED | MAP_PRIVATE}), -EPERM);
  EXPECT_EQ(refused(SYS_mmap, {own, own_page, 0, MAP_PRIVATE}), 0) << "a hint";
  EXPECT_EQ(refused(SYS_mremap, {own, own_page, own_page, 0}), -EPERM);
  EXPECT_EQ(refused(SYS_mremap, {own, 0, own_page, MREMAP_MAYMOVE}), -EPERM);
  const std::uint64_t moves_to = MREMAP_MAYMOVE | MREMAP_FIXED;
  EXPECT_EQ(refused(SYS_mremap, {behind, own_page, own_page, moves_to, own}), -EPERM);
  EXPECT_EQ(refused(SYS_mremap, {behind, own_page, own_page, MREMAP_MAYMOVE, own}), 0);
}

TEST_F(OwnProcess, a_segment_is_not_attached_over_memory) {
  const int segment = ::shmget(IPC_PRIVATE, 2 * own_page, 0600);
  ASSERT_GE(segment, 0);
  const auto number = static_cast<std::uint64_t>(segment);
  EXPECT_EQ(refused(SYS_shmat, {number, before, SHM_REMAP}), -EPERM);
  EXPECT_EQ(refused(SYS_shmat, {number, behind, SHM_REMAP}), 0);
  EXPECT_EQ(refused(SYS_shmat, {number, before, 0}), 0);
  ASSERT_EQ(::shmctl(segment, IPC_RMID, nullptr), 0);
  EXPECT_EQ(refused(SYS_shmat, {number, before, SHM_REMAP}), -EPERM) << "of unknown size";
}

TEST_F(OwnProcess, a_range_is_free_once_its_owner_ends) {
  EXPECT_EQ(refused(SYS_munmap, {before, own_page}), 0);
  {
    OwnMemory second(memory, own_page);
    const OwnMemory third = std::move(second);
    EXPECT_EQ(refused(SYS_munmap, {before, own_page}), -EPERM);
  }
  EXPECT_EQ(refused(SYS_munmap, {before, own_page}), 0);
}

TEST_F(OwnProcess, a_thread_and_its_stack_are_own_while_it_runs) {
  std::thread([] {
    const auto self = static_cast<std::uint64_t>(::gettid());
    const auto process = static_cast<std::uint64_t>(::getpid());
    const char local = 0;
    const std::uint64_t stack = reinterpret_cast<std::uint64_t>(&local) & ~(own_page - 1);
    EXPECT_EQ(refused(SYS_rt_tgsigqueueinfo, {process, self, SIGUSR1}), 0);
    EXPECT_EQ(refused(SYS_munmap, {stack, own_page}), 0);
    {
      const OwnThread thread;
      EXPECT_EQ(refused(SYS_rt_tgsigqueueinfo, {process, self, SIGUSR1}), -EPERM);
      EXPECT_EQ(refused(SYS_munmap, {stack, own_page}), -EPERM);
    }
    EXPECT_EQ(refused(SYS_rt_tgsigqueueinfo, {process, self, SIGUSR1}), 0);
    EXPECT_EQ(refused(SYS_munmap, {stack, own_page}), 0);
  }).join();
}

TEST_F(OwnProcess, no_signal_ends_or_stops_the_process_under_the_number_of_any_thread) {
  const auto process = static_cast<std::uint64_t>(::getpid());
  const auto parent = static_cast<std::uint64_t>(::getppid());
  std::thread([=] {
    const auto thread = static_cast<std::uint64_t>(::gettid());
    for (const std::uint64_t signal : {std::uint64_t{SIGKILL}, std::uint64_t{SIGSTOP}}) {
      EXPECT_EQ(refused(SYS_rt_sigqueueinfo, {process, signal}), -EPERM);
      EXPECT_EQ(refused(SYS_rt_sigqueueinfo, {thread, signal}), -EPERM);
      EXPECT_EQ(refused(SYS_rt_sigqueueinfo, {parent, signal}), 0);
      EXPECT_EQ(refused(SYS_rt_tgsigqueueinfo, {process, thread, signal}), -EPERM);
      EXPECT_EQ(refused(SYS_fcntl, {0, F_SETSIG, signal}), -EPERM);
    }
    EXPECT_EQ(refused(SYS_rt_sigqueueinfo, {process, SIGUSR1}), 0);
    EXPECT_EQ(refused(SYS_fcntl, {0, F_SETSIG, SIGUSR1}), 0);
  }).join();
}

TEST_F(OwnProcess, children_of_the_host_program_are_looked_at_and_not_reaped) {
  for (const std::uint64_t events : {WEXITED, WSTOPPED | WCONTINUED, WEXITED | WNOHANG}) {
    EXPECT_EQ(refused(SYS_waitid, {P_ALL, 0, 0, events}), -EPERM) << events;
    EXPECT_EQ(refused(SYS_waitid, {P_PID, 7, 0, events}), -EPERM) << events;
    EXPECT_EQ(refused(SYS_waitid, {P_ALL, 0, 0, events | WNOWAIT}), 0) << events;
  }
}

TEST_F(OwnProcess, keyrings_of_a_thread_are_no_kernels_business) {
  for (const int key : {KEY_SPEC_THREAD_KEYRING, KEY_SPEC_PROCESS_KEYRING, KEY_SPEC_REQKEY_AUTH_KEY,
                        KEY_SPEC_REQUESTOR_KEYRING}) {
    SCOPED_TRACE(key);
    const auto wide = static_cast<std::uint64_t>(key);
    for (const std::uint64_t word : {wide, wide & 0xffffffff}) {  // Linux looks at 32 bits.
      EXPECT_EQ(refused(SYS_add_key, {0, 0, 0, 0, word}), -EPERM);
      EXPECT_EQ(refused(SYS_request_key, {0, 0, 0, word}), -EPERM);
      EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_GET_KEYRING_ID, word, 1}), -EPERM);
      EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_LINK, 5, word}), -EPERM);
      EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_MOVE, 5, 6, word}), -EPERM);
      EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_SEARCH, 5, 0, 0, word}), -EPERM);
      EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_GET_PERSISTENT, word, 5}), 0) << "a user";
      EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_CHOWN, 5, word, word}), 0) << "users and groups";
      EXPECT_EQ(refused(SYS_keyctl, {999, word}), -EPERM) << "an operation of a later Linux";
    }
  }
  for (const int operation : {KEYCTL_JOIN_SESSION_KEYRING, KEYCTL_SESSION_TO_PARENT,
                              KEYCTL_SET_REQKEY_KEYRING, KEYCTL_ASSUME_AUTHORITY}) {
    EXPECT_EQ(refused(SYS_keyctl, {static_cast<std::uint64_t>(operation)}), -EPERM) << operation;
  }
  const auto session = static_cast<std::uint64_t>(KEY_SPEC_SESSION_KEYRING);
  EXPECT_EQ(refused(SYS_add_key, {0, 0, 0, 0, session}), 0);
  EXPECT_EQ(refused(SYS_keyctl, {KEYCTL_DESCRIBE, session}), 0);
}

TEST_F(OwnProcess, threads_own_no_lock_that_a_kernel_takes) {
  for (const int operation : {FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_TRYLOCK_PI, FUTEX_UNLOCK_PI,
                              FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI_PRIVATE}) {
    EXPECT_EQ(refused(SYS_futex, {0, static_cast<std::uint64_t>(operation)}), -EPERM) << operation;
  }
  for (const int operation : {FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET_PRIVATE, FUTEX_REQUEUE}) {
    EXPECT_EQ(refused(SYS_futex, {0, static_cast<std::uint64_t>(operation)}), 0) << operation;
  }
}

}  // namespace
}  // namespace k2k::services
