// Goal: the natural call (k2k::pread and its kin) with registered memory reaches the router on
// every device, as long as the caller wants it, where the host may not touch that memory. Method:
// memory of a strict device, which is registered with a reader of the test's.

#include "router/read/registered_memory.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "io/memory/device_memory.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/device_channels.hpp"
#include "router/read/file_reader.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance::registered_memory_test {
namespace {

using router::RegisteredMemory;

constexpr std::size_t file_bytes = 1 << 20;
constexpr std::uint32_t items = 4;
constexpr std::size_t part = file_bytes / items;
// The largest transfer of a call that copies through a block of the arena.
constexpr long block_bytes_max = 7'680;

class RegisteredReads : public DeviceUnderTest {
 protected:
  // Memory that only the device can address, registered until the runtime ends.
  std::byte* allocate(Runtime& runtime, bool is_registered = true) {
    auto* const memory = static_cast<std::byte*>(runtime.allocate(file_bytes).value());
    if (!is_registered) return memory;
    auto reader = router::FileReader::create(
        std::make_shared<io::MappedMemory>(), {},
        {.paths = {.buffers = 2, .buffer_bytes = 64 * 1024}, .channels_kept = 2});
    EXPECT_TRUE(reader.ok());
    EXPECT_TRUE(
        RegisteredMemory::of_process().add(memory, file_bytes, std::move(reader).value()).ok());
    return memory;
  }
  static void free(Runtime& runtime, std::byte* memory) {
    static_cast<void>(RegisteredMemory::of_process().remove(memory));
    runtime.free(memory);
  }
  Runtime start_strict() {
    return start([](RuntimeConfig& config) { config.device.strict = true; });
  }
  bool holds_file(Runtime& runtime, const std::byte* memory) {
    std::vector<std::byte> copy(file_bytes);
    EXPECT_TRUE(runtime.copy(copy.data(), memory, file_bytes).ok());
    return copy == file.bytes();
  }

  router::DataFile file{file_bytes};
  const int descriptor = file.descriptor();
};
K2K_EVERY_DEVICE(RegisteredReads);

TEST_P(RegisteredReads, come_as_a_whole_by_the_natural_call) {
  Runtime runtime = start_strict();
  std::byte* const into = allocate(runtime);
  std::array<long, items> counts{};
  long* const answers = counts.data();
  const int from = descriptor;
  for (const bool cold : {true, false}) {
    if (cold) file.evict();
    launch(runtime, 1, items, [=] {
      const std::size_t at = k2k::item_rank() * part;
      answers[k2k::item_rank()] =
          k2k::pread(k2k::work_item, from, into + at, part, static_cast<std::int64_t>(at));
    });
    for (const long count : counts) EXPECT_EQ(count, static_cast<long>(part));
    EXPECT_TRUE(holds_file(runtime, into));
  }
  EXPECT_EQ(runtime.stats().files.reads, 2 * items) << "the router made all reads";
  free(runtime, into);
}

TEST_P(RegisteredReads, of_a_group_and_at_the_position_and_writes_are_whole_too) {
  Runtime runtime = start_strict();
  std::byte* const into = allocate(runtime);
  std::array<long, 5> counts{};
  long* const answers = counts.data();
  const int from = descriptor;
  const TemporaryFile target;
  const int to = target.fd;
  ASSERT_EQ(::lseek(from, 0, SEEK_SET), 0);
  launch(runtime, 1, 32, [=] {
    const long read = k2k::pread(k2k::work_group, from, into, part, 0);
    if (k2k::item_rank() != 0) return;
    answers[0] = read;
    answers[1] = k2k::read(k2k::work_item, from, into, file_bytes);
    answers[2] = k2k::pwrite(k2k::work_item, to, into, part, 0);
    answers[3] = k2k::write(k2k::work_item, to, into, part);
    answers[4] = k2k::pread(k2k::work_item, from, into, 100, 0);
  });
  EXPECT_EQ(counts[0], static_cast<long>(part));
  EXPECT_EQ(counts[1], static_cast<long>(file_bytes));
  EXPECT_EQ(counts[2], static_cast<long>(part));
  EXPECT_EQ(counts[3], static_cast<long>(part));
  EXPECT_EQ(counts[4], 100);
  EXPECT_TRUE(holds_file(runtime, into));
  const std::string written = target.content();
  ASSERT_EQ(written.size(), part);
  EXPECT_EQ(std::memcmp(written.data(), file.bytes().data(), part), 0);
  EXPECT_EQ(runtime.stats().files.reads, 3u);
  EXPECT_EQ(runtime.stats().files.writes, 2u);
  free(runtime, into);
}

TEST_P(RegisteredReads, that_leave_their_range_are_refused_and_others_are_cut_to_a_block) {
  Runtime runtime = start_strict();
  std::byte* const into = allocate(runtime);
  std::byte* const other = allocate(runtime, false);
  std::array<long, 4> counts{};
  long* const answers = counts.data();
  const int from = descriptor;
  launch(runtime, 1, 1, [=] {
    answers[0] = k2k::pread(k2k::work_item, from, into + file_bytes - 10, 11, 0);
    answers[1] = k2k::pread(k2k::work_item, from, other, part, 0);
    const auto place = reinterpret_cast<std::uintptr_t>(other);
    answers[2] = k2k::syscall(k2k::work_item, k2k::halting, SYS_pread64, from, place, part, 0);
    answers[3] = k2k::pread(k2k::work_item, -1, into, part, 0);
  });
  EXPECT_EQ(counts[0], -EFAULT);
  EXPECT_EQ(counts[1], block_bytes_max);
  EXPECT_EQ(counts[2], -EFAULT);
  EXPECT_EQ(counts[3], -EBADF);
  free(runtime, into);
  runtime.free(other);
}

TEST_P(RegisteredReads, that_come_as_tickets_are_whole) {
  Runtime runtime = start_strict();
  std::byte* const into = allocate(runtime);
  std::array<long, 1> counts{};
  long* const answers = counts.data();
  const int from = descriptor;
  launch(runtime, 1, 1, [=] {
    auto ticket = k2k::pread(k2k::work_item, k2k::async, from, into, file_bytes, 0);
    answers[0] = ticket.redeem();
  });
  EXPECT_EQ(counts[0], static_cast<long>(file_bytes));
  EXPECT_TRUE(holds_file(runtime, into));
  free(runtime, into);
}

}  // namespace
}  // namespace k2k::conformance::registered_memory_test
