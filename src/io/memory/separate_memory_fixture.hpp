#pragma once
// Device memory of the tests that the CPU can access only through DeviceMemory: its addresses
// fault. Copies arrive after some polls, in an order determined by a seed; until then a change of
// the buffer changes the copied data. For tests; never installed.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

#include "io/file/files_fixture.hpp"
#include "io/memory/device_memory.hpp"

namespace k2k::io {

class SeparateMemory final : public DeviceMemory {
 public:
  explicit SeparateMemory(std::size_t bytes, std::uint32_t seed = 1)
      : file_(::memfd_create("separate", MFD_CLOEXEC)), bytes_(bytes), random_(seed) {
    if (::ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) std::abort();
    addresses_ = mapped(PROT_NONE);
    inside_ = mapped(PROT_READ | PROT_WRITE);
  }
  ~SeparateMemory() override {
    ::munmap(addresses_, bytes_);
    ::munmap(inside_, bytes_);
  }

  // The addresses for the program; loads and stores there fault.
  [[nodiscard]] std::byte* address() const { return addresses_; }
  // The memory as the device sees it.
  [[nodiscard]] std::span<std::byte> inside() const { return {inside_, bytes_}; }

  // The copy number `at` (from 0, over all queues) fails at its end, or is refused.
  void fail_copy(std::uint32_t at, int code) { failing_ = {at, code}; }
  void refuse_copy(std::uint32_t at, int code) { refused_ = {at, code}; }
  void fail_copies_from(std::uint32_t at, int code) { failing_from_ = {at, code}; }
  void refuse_queues(int code) { no_queues_ = code; }
  // From now on the CPU may store into a mapping of the memory.
  void set_mapped() { mapped_ = true; }
  void set_looks_max(std::uint32_t looks) { looks_max_ = looks; }

  [[nodiscard]] std::uint32_t copies() const { return copies_; }
  [[nodiscard]] std::uint32_t under_way_max() const { return under_way_max_; }

  [[nodiscard]] const char* name() const override { return "separate"; }
  [[nodiscard]] bool kernel_reaches() const override { return false; }
  [[nodiscard]] Status can_map() const override {
    if (mapped_) return {};
    return Error{EOPNOTSUPP, "memory of the tests' own is not mapped"};
  }
  Result<std::byte*> map(std::byte* address, std::size_t) override {
    if (!mapped_) return can_map().error();
    return inside_ + (address - addresses_);
  }
  Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t buffers,
                                                std::size_t buffer_bytes) override {
    if (no_queues_ != 0) return Error{no_queues_, "no memory can be pinned; raise ulimit -l"};
    return std::unique_ptr<CopyQueue>(std::make_unique<Queue>(*this, buffers, buffer_bytes));
  }

 private:
  struct Fault {
    std::uint32_t at = ~std::uint32_t{0};
    int code = 0;
  };

  class Queue final : public CopyQueue {
   public:
    Queue(SeparateMemory& memory, std::uint32_t buffers, std::size_t buffer_bytes)
        : memory_(memory),
          pinned_(buffers * buffer_bytes),
          buffer_bytes_(buffer_bytes),
          copies_(buffers) {}
    ~Queue() override {
      for (const Copy& copy : copies_) EXPECT_FALSE(copy.under_way) << "a copy is under way";
    }

    [[nodiscard]] std::span<std::byte> buffer(std::uint32_t index) override {
      return pinned_.span().subspan(index * buffer_bytes_, buffer_bytes_);
    }
    int copy_in(std::uint32_t index, std::byte* device, std::size_t bytes) override {
      return begin(index, device, bytes, true);
    }
    int copy_out(std::uint32_t index, const std::byte* device, std::size_t bytes) override {
      return begin(index, device, bytes, false);
    }
    Look look(std::uint32_t index) override {
      Copy& copy = copies_[index];
      EXPECT_TRUE(copy.under_way) << "the copy was not begun, or was already reported as done";
      if (copy.looks > 0) return --copy.looks, Look{};
      copy.under_way = false;
      {
        const std::lock_guard lock(memory_.mutex_);
        --memory_.under_way_;
      }
      if (copy.code != 0) return {true, copy.code};
      std::byte* const here = buffer(index).data();
      if (copy.in) {
        std::memcpy(copy.device, here, copy.bytes);
        std::memset(here, 0xEE, copy.bytes);  // No reader may still need the old bytes.
      } else {
        std::memcpy(here, copy.device, copy.bytes);
      }
      return {true, 0};
    }

   private:
    struct Copy {
      bool under_way = false;
      bool in = false;
      std::byte* device = nullptr;
      std::size_t bytes = 0;
      std::uint32_t looks = 0;
      int code = 0;
    };

    int begin(std::uint32_t index, const std::byte* device, std::size_t bytes, bool in) {
      const std::lock_guard lock(memory_.mutex_);
      const std::uint32_t number = memory_.copies_++;
      if (number == memory_.refused_.at) return memory_.refused_.code;
      const auto at = static_cast<std::size_t>(device - memory_.addresses_);
      EXPECT_LE(at + bytes, memory_.bytes_);
      EXPECT_LE(bytes, buffer_bytes_);
      EXPECT_GT(bytes, 0u);
      EXPECT_FALSE(copies_[index].under_way);
      int code = number == memory_.failing_.at ? memory_.failing_.code : 0;
      if (number >= memory_.failing_from_.at) code = memory_.failing_from_.code;
      copies_[index] = {true,
                        in,
                        memory_.inside_ + at,
                        bytes,
                        static_cast<std::uint32_t>(memory_.random_() % (memory_.looks_max_ + 1)),
                        code};
      memory_.under_way_max_ = std::max(memory_.under_way_max_, ++memory_.under_way_);
      return 0;
    }

    SeparateMemory& memory_;
    Pages pinned_;
    std::size_t buffer_bytes_;
    std::vector<Copy> copies_;
  };

  [[nodiscard]] std::byte* mapped(int access) const {
    void* const place = ::mmap(nullptr, bytes_, access, MAP_SHARED, file_.number(), 0);
    if (place == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(place);
  }

  Opened file_;
  std::size_t bytes_;
  std::mt19937 random_;
  std::byte* addresses_ = nullptr;
  std::byte* inside_ = nullptr;
  Fault failing_;
  Fault failing_from_;
  Fault refused_;
  int no_queues_ = 0;
  bool mapped_ = false;
  std::mutex mutex_;  // Guards the counts of several threads' queues.
  std::uint32_t looks_max_ = 30;
  std::uint32_t copies_ = 0;
  std::uint32_t under_way_ = 0;
  std::uint32_t under_way_max_ = 0;
};

}  // namespace k2k::io
