// Goal: the structures of ioctl lie in any memory of a strict device, as with a GPU, and in
// demand-paged memory; of other requests nothing is copied that nobody knows.

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::ioctl_test {
namespace {

class Ioctls : public DeviceUnderTest {
 protected:
  Runtime start_strict() {
    return start([](RuntimeConfig& config) { config.device.strict = true; });
  }
};
K2K_EVERY_DEVICE(Ioctls);

// A terminal, its descriptor closed at the end.
struct Terminal {
  Terminal() : fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    constexpr winsize size{24, 80, 7, 9};
    if (fd >= 0) {
      EXPECT_EQ(::ioctl(fd, TIOCSWINSZ, &size), 0);
    }
  }
  ~Terminal() {
    if (fd >= 0) ::close(fd);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  int fd;
};

// The answer, and whether `size` is that of a Terminal, then changed and read back.
template <class Size>
bool resizes(int terminal, Size& size, std::uint16_t rows) {
  bool right = k2k::ioctl(k2k::work_item, terminal, TIOCGWINSZ, &size) == 0;
  right &= size.ws_col == 80 && size.ws_ypixel == 9;
  size.ws_row = rows;
  right &= k2k::ioctl(k2k::work_item, terminal, TIOCSWINSZ, &size) == 0;
  size = {};
  right &= k2k::ioctl(k2k::work_item, terminal, TIOCGWINSZ, &size) == 0;
  return right && size.ws_row == rows;
}

TEST_P(Ioctls, have_structures_in_every_kind_of_memory) {
  Runtime runtime = start_strict();
  const Terminal terminal;
  if (terminal.fd < 0) GTEST_SKIP() << "no terminal here";
  auto* const device = static_cast<winsize*>(runtime.allocate(64).value());
  auto* const shared = static_cast<winsize*>(runtime.allocate_shared(64).value());
  int right = 0;
  launch(runtime, 1, 1, [&] {
    winsize stack{};
    K2K_LOCAL(winsize, local);
    right += resizes(terminal.fd, stack, 30);
    right += resizes(terminal.fd, local, 31);
    right += resizes(terminal.fd, *device, 32);
    right += resizes(terminal.fd, *shared, 33);
  });
  EXPECT_EQ(right, 4);
  winsize last{};
  ASSERT_EQ(::ioctl(terminal.fd, TIOCGWINSZ, &last), 0);
  EXPECT_EQ(last.ws_row, 33);
  runtime.free(device);
  runtime.free_shared(shared);
}

TEST_P(Ioctls, may_read_and_write_one_structure) {
  Runtime runtime = start_strict();
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  auto* const device = static_cast<ifreq*>(runtime.allocate(sizeof(ifreq)).value());
  int answers[3] = {};
  int index = 0;
  launch(runtime, 1, 1, [&] {
    ifreq stack{};
    std::memcpy(stack.ifr_name, "lo", 3);
    answers[0] = static_cast<int>(k2k::ioctl(k2k::work_item, socket, SIOCGIFINDEX, &stack));
    index = stack.ifr_ifindex;
    *device = {};
    std::memcpy(device->ifr_name, "lo", 3);
    answers[1] = static_cast<int>(k2k::ioctl(k2k::work_item, socket, SIOCGIFINDEX, device));
    answers[1] += device->ifr_ifindex == index ? 0 : 1;
    std::memcpy(stack.ifr_name, "k2k_none", 9);
    answers[2] = static_cast<int>(k2k::ioctl(k2k::work_item, socket, SIOCGIFINDEX, &stack));
  });
  ifreq native{};
  std::memcpy(native.ifr_name, "lo", 3);
  const int value = ::ioctl(socket, SIOCGIFINDEX, &native) == 0 ? 0 : -errno;
  EXPECT_EQ(answers[0], value);
  EXPECT_EQ(answers[1], value);
  EXPECT_EQ(answers[2], -ENODEV);
  if (value == 0) {
    EXPECT_EQ(index, native.ifr_ifindex);
  }
  runtime.free(device);
  ::close(socket);
}

TEST_P(Ioctls, answer_as_linux_does) {
  Runtime runtime = start_strict();
  const Pair pipe;
  const TemporaryFile file("x");
  const int random = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::write(pipe.out(), "12345", 5), 5);
  long answers[6] = {};
  int waiting = 0;
  int entropy = -1;
  launch(runtime, 1, 1, [&] {
    int count = 0;
    int bits = -1;
    std::uint64_t size = 77;
    answers[0] = k2k::ioctl(k2k::work_item, pipe.in(), FIONREAD, &count);
    answers[1] = k2k::ioctl(k2k::work_item, random, RNDGETENTCNT, &bits);
    answers[2] = k2k::ioctl(k2k::work_item, file.fd, BLKGETSIZE64, &size);
    answers[3] = k2k::ioctl(k2k::work_item, pipe.in(), FIONREAD, nullptr);
    answers[4] = k2k::ioctl(k2k::work_item, pipe.in(), FIOCLEX, 0);
    answers[5] = k2k::ioctl(k2k::work_item, -1, FIONREAD, &count) + (size == 77 ? 0 : 1);
    waiting = count;
    entropy = bits;
  });
  EXPECT_EQ(answers[0], 0);
  EXPECT_EQ(waiting, 5);
  EXPECT_EQ(answers[1], 0);
  EXPECT_GE(entropy, 0);
  EXPECT_EQ(answers[2], -ENOTTY) << "it is no block device";
  EXPECT_EQ(answers[3], -EFAULT);
  EXPECT_EQ(answers[4], 0) << "a request without an argument";
  EXPECT_EQ(answers[5], -EBADF);
  ::close(random);
}

TEST_P(Ioctls, of_unknown_structures_need_memory_of_the_host) {
  Runtime runtime = start_strict();
  const TemporaryFile file("x");
  auto* const shared = static_cast<char*>(runtime.allocate_shared(4096).value());
  long answers[3] = {};
  launch(runtime, 1, 1, [&] {
    char stack[64] = {};
    answers[0] = k2k::ioctl(k2k::work_item, file.fd, 0xc0206b6b, stack);
    answers[1] = k2k::ioctl(k2k::work_item, file.fd, 0xc0206b6b, shared);
    answers[2] = k2k::ioctl(k2k::work_item, file.fd, 0xc0206b6b, nullptr);
  });
  EXPECT_EQ(answers[0], -EFAULT) << "it may have pointers or a tail";
  EXPECT_EQ(answers[1], -ENOTTY) << "Linux sees it as it stands";
  EXPECT_EQ(answers[2], -ENOTTY);
  runtime.free_shared(shared);
}

}  // namespace
}  // namespace k2k::conformance::ioctl_test
