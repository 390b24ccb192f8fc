// Goal: it is known which calls have Linux' own threads work for them.

#include "services/kernel_work.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace k2k::services {
namespace {

Request call_of(long number, std::initializer_list<std::uint64_t> arguments = {}) {
  Request request;
  request.number = static_cast<std::uint16_t>(number);
  std::size_t at = 0;
  for (const std::uint64_t argument : arguments) request.arguments[at++] = argument;
  return request;
}

class KernelWork : public testing::Test {
 protected:
  KernelWork() {
    std::string path = testing::TempDir() + "k2k-kernel-work-XXXXXX";
    plain_ = ::mkstemp(path.data());
    synchronous_ = ::open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC);
    data_only_ = ::open(path.c_str(), O_RDWR | O_DSYNC | O_CLOEXEC);
    ::unlink(path.c_str());
  }
  ~KernelWork() override {
    for (const int descriptor : {plain_, synchronous_, data_only_}) ::close(descriptor);
  }
  KernelWork(const KernelWork&) = delete;
  KernelWork& operator=(const KernelWork&) = delete;

  static std::uint64_t word(int descriptor) { return static_cast<std::uint64_t>(descriptor); }
  int plain_ = -1;
  int synchronous_ = -1;
  int data_only_ = -1;
};

TEST_F(KernelWork, is_behind_what_syncs_and_moves_blocks) {
  for (const long number : {SYS_fsync, SYS_fdatasync, SYS_sync, SYS_syncfs, SYS_sync_file_range,
                            SYS_msync, SYS_fallocate, SYS_truncate, SYS_ftruncate,
                            SYS_copy_file_range, SYS_unlink, SYS_unlinkat}) {
    EXPECT_TRUE(has_kernel_threads_work(call_of(number))) << number;
  }
}

TEST_F(KernelWork, is_not_behind_what_waits_for_peers_and_clocks) {
  for (const long number : {SYS_read, SYS_pread64, SYS_nanosleep, SYS_futex, SYS_poll, SYS_openat,
                            SYS_recvfrom, SYS_sendto, SYS_wait4}) {
    EXPECT_FALSE(has_kernel_threads_work(call_of(number))) << number;
  }
}

TEST_F(KernelWork, is_behind_writes_to_what_was_opened_synchronously) {
  ASSERT_GE(synchronous_, 0);
  for (const long number :
       {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_sendfile}) {
    EXPECT_FALSE(has_kernel_threads_work(call_of(number, {word(plain_)}))) << number;
    EXPECT_FALSE(has_kernel_threads_work(call_of(number, {word(-1)}))) << number;
    EXPECT_TRUE(has_kernel_threads_work(call_of(number, {word(synchronous_)}))) << number;
    EXPECT_TRUE(has_kernel_threads_work(call_of(number, {word(data_only_)}))) << number;
  }
  EXPECT_FALSE(has_kernel_threads_work(call_of(SYS_splice, {0, 0, word(plain_)})));
  EXPECT_TRUE(has_kernel_threads_work(call_of(SYS_splice, {0, 0, word(synchronous_)})));
}

TEST_F(KernelWork, is_behind_a_write_that_asks_for_it) {
  for (const std::uint64_t flag : {RWF_DSYNC, RWF_SYNC}) {
    EXPECT_TRUE(has_kernel_threads_work(call_of(SYS_pwritev2, {word(plain_), 0, 0, 0, 0, flag})));
  }
  EXPECT_FALSE(
      has_kernel_threads_work(call_of(SYS_pwritev2, {word(plain_), 0, 0, 0, 0, RWF_APPEND})));
}

}  // namespace
}  // namespace k2k::services
