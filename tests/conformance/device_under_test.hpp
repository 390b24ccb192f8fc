#pragma once
// The common base of this suite's tests: one runtime, for the backend and the schedule with which
// the test is instantiated. Tests use only the public interface and the device headers, so that a
// new backend is one more line in device_under_test.cpp.
//
// Sizes: the device is small (2 units of 4 waves, 256 work-items resident), so that a few hundred
// work-items oversubscribe it; under ThreadSanitizer tests use fewer.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "k2k/device.hpp"
#include "k2k/runtime.hpp"

namespace k2k::conformance {

struct Setup {
  std::string backend;
  backend::Schedule schedule;
  std::uint64_t seed;
  std::uint32_t compute_units =
      2;                  // With one, a cpu device shares its memory with no other thread.
  bool on_units = false;  // server.bottom_half = "inline".
  bool staged = false;    // server.bottom_half = "staged".
  bool walls = false;     // server.walls = "strict".
};
inline void PrintTo(const Setup& setup, std::ostream* out) {
  *out << setup.backend << ", schedule " << static_cast<int>(setup.schedule) << ", seed "
       << setup.seed << ", units " << setup.compute_units << (setup.on_units ? ", inline" : "")
       << (setup.staged ? ", staged" : "") << (setup.walls ? ", behind walls" : "");
}
std::vector<Setup> setups();
// For tests that attack: the paths of requests that have threads of their own.
std::vector<Setup> setups_behind_walls();
std::string name_of(const testing::TestParamInfo<Setup>& info);
RuntimeConfig config_of(const Setup& setup);

#if defined(K2K_TSAN)
inline constexpr bool race_checked = true;
#else
inline constexpr bool race_checked = false;
#endif
// The allocator of g++ 12's AddressSanitizer does not renew its locks in a child of threads.
#if defined(K2K_TSAN) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool child_of_threads_can_run = false;
#else
inline constexpr bool child_of_threads_can_run = true;
#endif
// The second number where ThreadSanitizer slows everything down.
constexpr std::uint32_t scaled(std::uint32_t plain, std::uint32_t checked) {
  return race_checked ? checked : plain;
}

// Why a test of calls that get stuck has nothing to show under server.bottom_half = "inline".
inline constexpr const char* unit_waits = "a unit waits for the calls that it makes itself";

class DeviceUnderTest : public testing::TestWithParam<Setup> {
 protected:
  // A test behind walls is skipped, with the reason, where this machine does not have all of them.
  void SetUp() override;

  // The small device; `adjust` may change it.
  Runtime start(const std::function<void(RuntimeConfig&)>& adjust = {}) {
    RuntimeConfig config = config_of(GetParam());
    if (adjust) adjust(config);
    Result<Runtime> runtime = Runtime::create(config);
    if (!runtime) {
      ADD_FAILURE() << runtime.error().message;
      std::abort();
    }
    return std::move(runtime).value();
  }

  // Of server.threads_max, with one top half.
  static std::uint32_t threads_least() { return GetParam().staged ? 4 : 3; }

  // Or until patience ends, after which the test goes on and says what is missing.
  static void wait_until_in_flight(const Runtime& runtime, std::uint32_t requests) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (runtime.stats().in_flight < requests && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  template <class Kernel>
  LaunchReport launch(Runtime& runtime, std::uint32_t groups, std::uint32_t items,
                      const Kernel& body) {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    Result<LaunchReport> report = runtime.launch({groups, items}, body, test->name());
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? report.value() : LaunchReport{};
  }
};

// Two descriptors that close themselves.
struct Pair {
  enum class Kind { pipe, stream, datagram };
  explicit Pair(Kind kind = Kind::pipe) {
    const int status =
        kind == Kind::pipe
            ? ::pipe2(fd.data(), O_CLOEXEC)
            : ::socketpair(AF_UNIX,
                           (kind == Kind::stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0,
                           fd.data());
    if (status != 0) std::abort();
  }
  ~Pair() {
    close(0);
    close(1);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  void close(std::size_t end) {
    if (fd[end] >= 0) ::close(fd[end]);
    fd[end] = -1;
  }
  [[nodiscard]] int in() const { return fd[0]; }
  [[nodiscard]] int out() const { return fd[1]; }

  std::array<int, 2> fd{-1, -1};
};

// A file that is gone with the test.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& content = "") {
    fd = ::mkstemp(path.data());
    if (fd < 0 ||
        ::pwrite(fd, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
      std::abort();
    }
  }
  ~TemporaryFile() {
    ::close(fd);
    ::unlink(path.data());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] std::string content() const {
    std::string text(1 << 20, '\0');
    const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }

  std::string path = "/tmp/k2k-conformance-XXXXXX";
  int fd = -1;
};

// Reads exactly `bytes` bytes, or fewer at the end of the data.
inline std::string read_all(int fd, std::size_t bytes) {
  std::string text;
  std::vector<char> chunk(4096);
  while (text.size() < bytes) {
    const ssize_t count = ::read(fd, chunk.data(), std::min(chunk.size(), bytes - text.size()));
    if (count <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// Runs `body` in a child process, before which no runtime may live; gives its wait status. A child
// that hangs is killed by SIGALRM.
int status_of_child(const std::function<void()>& body);

}  // namespace k2k::conformance

// Instantiates a suite behind walls, beside K2K_EVERY_DEVICE.
#define K2K_BEHIND_WALLS(Suite)                                                          \
  INSTANTIATE_TEST_SUITE_P(behind_walls, Suite,                                          \
                           testing::ValuesIn(::k2k::conformance::setups_behind_walls()), \
                           ::k2k::conformance::name_of)
// Instantiates a suite for every backend and schedule.
#define K2K_EVERY_DEVICE(Suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::ValuesIn(::k2k::conformance::setups()), \
                           ::k2k::conformance::name_of)
