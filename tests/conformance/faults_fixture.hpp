#pragma once
// Demand-paged regions, and memory that delays their pages.
//
// Threading: the test's.

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "backend/demand_pages.hpp"
#include "k2k/demand_region.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance {

inline constexpr std::size_t page = 4096;
inline constexpr std::size_t words_a_page = page / sizeof(std::uint64_t);

// The text of a refused launch, or "".
inline std::string failure_of(const Result<LaunchReport>& report) {
  return report.ok() ? "" : report.error().message;
}

// Source memory that stays missing until the test releases it: held back by userfaultfd(2).
class StuckMemory {
 public:
  static constexpr const char* needs =
      "holding up the kernel's own access takes vm.unprivileged_userfaultfd = 1 or root";

  explicit StuckMemory(std::size_t pages)
      : bytes_(pages * page),
        memory_(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        holder_(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK))) {
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register wish{};
    wish.range = {reinterpret_cast<std::uint64_t>(memory_), bytes_};
    wish.mode = UFFDIO_REGISTER_MODE_MISSING;
    ok_ = memory_ != MAP_FAILED && ::ioctl(holder_, UFFDIO_API, &api) == 0 &&
          ::ioctl(holder_, UFFDIO_REGISTER, &wish) == 0;
  }
  ~StuckMemory() {
    if (holder_ >= 0) ::close(holder_);
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
  }
  StuckMemory(const StuckMemory&) = delete;
  StuckMemory& operator=(const StuckMemory&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] const void* data() const { return memory_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // True once a reader waits.
  [[nodiscard]] bool awaited() const {
    pollfd watched{holder_, POLLIN, 0};
    return ::poll(&watched, 1, 0) == 1;
  }
  void release(char content) {
    const std::vector<char> pages(bytes_, content);
    uffdio_copy copy{};
    copy.dst = reinterpret_cast<std::uint64_t>(memory_);
    copy.src = reinterpret_cast<std::uint64_t>(pages.data());
    copy.len = bytes_;
    EXPECT_EQ(::ioctl(holder_, UFFDIO_COPY, &copy), 0) << errno;
  }

 private:
  std::size_t bytes_;
  void* memory_;
  int holder_;
  bool ok_ = false;
};

class Faults : public DeviceUnderTest {
 protected:
  template <class Made>
  DemandRegion made(Made region) {
    if (!region) {
      ADD_FAILURE() << region.error().message;
      std::abort();
    }
    return std::move(region).value();
  }
  static std::uint64_t requests(const Runtime& runtime) {
    for (const server::CallStats& call : runtime.stats().calls) {
      if (call.name == "fault_in") return call.count;
    }
    return 0;
  }
};

}  // namespace k2k::conformance
