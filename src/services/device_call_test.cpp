// Goal: a request of device code whose buffer is a GPU's alone answers as Linux would of ordinary
// memory: files, pipes, positions, vectors. Method: memory that faults when it is touched.

#include "services/device_call.hpp"

#include <asm/unistd.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <thread>

#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/registered_fixture.hpp"
#include "router/read/registered_memory.hpp"
#include "services/admit_fixture.hpp"
#include "services/fake_backend_fixture.hpp"
#include "services/policy.hpp"
#include "services/services.hpp"

namespace k2k::services {
namespace {

using router::RegisteredMemory;

constexpr std::size_t device_bytes = 2 << 20;
constexpr std::size_t file_bytes = (1 << 20) + 321;

class DeviceCall : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(RegisteredMemory::of_process().add(address, device_bytes, device.reader).ok());
    if (!GetParam()) return;
    auto made = router::FileReader::create({});
    ASSERT_TRUE(made.ok()) << made.error().message;
    files = std::make_unique<router::Files>(std::move(made).value());
  }
  void TearDown() override {
    static_cast<void>(RegisteredMemory::of_process().remove(address));  // A test may have done so.
  }

  static Request request_of(int number, std::initializer_list<std::uint64_t> words) {
    Request request;
    request.number = static_cast<std::uint16_t>(number);
    request.row = static_cast<std::int16_t>(calls::find(request.number));
    std::ranges::copy(words, request.arguments);
    return request;
  }
  // As the server: without waiting, and if it must with it.
  std::int64_t run(int number, std::initializer_list<std::uint64_t> words) {
    Progress progress;
    const Request request = request_of(number, words);
    const Answer answer = execute_without_waiting(request, progress, *files);
    if (!answer.would_wait) return answer.value;
    return execute_waiting(request, progress, {}, *files);
  }
  static std::uint64_t word(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }
  static std::uint64_t word(int value) { return static_cast<std::uint64_t>(value); }
  bool holds(std::size_t at, std::size_t bytes, std::size_t offset) {
    return std::memcmp(device.inside() + at, file.bytes().data() + offset, bytes) == 0;
  }

  router::SeparateDevice device{device_bytes};
  std::byte* const address = device.address();
  router::DataFile file{file_bytes};
  const std::uint64_t descriptor = word(file.descriptor());
  std::unique_ptr<router::Files> files = std::make_unique<router::Files>();
};

TEST_P(DeviceCall, reads_at_an_offset_and_at_the_position) {
  file.evict();
  EXPECT_EQ(run(__NR_pread64, {descriptor, word(address + 3), 900'000, 777}), 900'000);
  EXPECT_TRUE(holds(3, 900'000, 777));
  ASSERT_EQ(::lseek(file.descriptor(), 100, SEEK_SET), 100);
  file.evict();
  EXPECT_EQ(run(__NR_read, {descriptor, word(address), 2000}), 2000) << "short";
  EXPECT_TRUE(holds(0, 2000, 100));
  EXPECT_EQ(run(__NR_read, {descriptor, word(address), 500'000}), 500'000);
  EXPECT_TRUE(holds(0, 500'000, 2100));
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), 502'100);
  EXPECT_EQ(run(__NR_read, {descriptor, word(address), device_bytes}),
            static_cast<std::int64_t>(file_bytes - 502'100));
  EXPECT_EQ(run(__NR_read, {descriptor, word(address), 100}), 0);
  EXPECT_EQ(run(__NR_read, {descriptor, word(address), 0}), 0);
  EXPECT_EQ(run(__NR_pread64, {word(-1), word(address), 100, 0}), -EBADF);
  EXPECT_EQ(run(__NR_pread64, {descriptor, word(address), 100, word(-1)}), -EINVAL);
  EXPECT_EQ(run(__NR_fadvise64, {descriptor, 0, 0, POSIX_FADV_DONTNEED}), 0);
}

TEST_P(DeviceCall, writes_at_an_offset_at_the_position_and_at_the_end) {
  std::memset(device.inside(), 'x', 1000);
  std::memset(device.inside() + 1000, 'y', 100'000);
  EXPECT_EQ(run(__NR_pwrite64, {descriptor, word(address + 990), 20, 5}), 20);
  ASSERT_EQ(::lseek(file.descriptor(), 0, SEEK_SET), 0);
  EXPECT_EQ(run(__NR_write, {descriptor, word(address + 1000), 3}), 3);
  char begin[25] = "";
  ASSERT_EQ(::pread(file.descriptor(), begin, 25, 0), 25);
  EXPECT_EQ(std::string(begin, 3), "yyy");
  EXPECT_EQ(std::string(begin + 5, 20), "xxxxxxxxxxyyyyyyyyyy");
  const int appending = ::open(file.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  EXPECT_EQ(run(__NR_write, {word(appending), word(address), 100'000}), 100'000);
  struct stat facts{};
  ASSERT_EQ(::fstat(appending, &facts), 0);
  EXPECT_EQ(facts.st_size, static_cast<off_t>(file_bytes + 100'000));
  EXPECT_EQ(run(__NR_read, {word(appending), word(address), 100}), -EBADF);
  ::close(appending);
}

TEST_P(DeviceCall, a_pipe_is_waited_for_and_gives_what_it_has) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Request request = request_of(__NR_read, {word(ends[0]), word(address), 1000});
  Progress progress;
  Answer answer = execute_without_waiting(request, progress, *files);
  EXPECT_TRUE(answer.would_wait);
  std::memcpy(device.inside() + 2000, "through a pipe", 14);
  EXPECT_EQ(run(__NR_write, {word(ends[1]), word(address + 2000), 14}), 14);
  answer = execute_without_waiting(request, progress, *files);
  EXPECT_FALSE(answer.would_wait);
  EXPECT_EQ(answer.value, 14);
  EXPECT_EQ(std::memcmp(device.inside(), "through a pipe", 14), 0);
  std::thread writing([&] { EXPECT_EQ(::write(ends[1], "later", 5), 5); });
  EXPECT_EQ(run(__NR_read, {word(ends[0]), word(address), 1000}), 5);
  writing.join();
  ::close(ends[1]);
  EXPECT_EQ(run(__NR_read, {word(ends[0]), word(address), 1000}), 0);
  ::close(ends[0]);
}

TEST_P(DeviceCall, vectors_of_host_and_device_memory_are_served) {
  char here[50] = "";
  const iovec pieces[] = {{address, 70'000}, {here, sizeof here}, {address + 100'000, 10}};
  const auto vector = word(pieces);
  EXPECT_EQ(run(__NR_preadv, {descriptor, vector, 3, 9, 0}), 70'060);
  EXPECT_TRUE(holds(0, 70'000, 9));
  EXPECT_EQ(std::memcmp(here, file.bytes().data() + 70'009, sizeof here), 0);
  EXPECT_TRUE(holds(100'000, 10, 70'059));
  ASSERT_EQ(::lseek(file.descriptor(), 5, SEEK_SET), 5);
  EXPECT_EQ(run(__NR_readv, {descriptor, vector, 3}), 70'060);
  EXPECT_TRUE(holds(0, 70'000, 5));
  EXPECT_EQ(run(__NR_preadv2, {descriptor, vector, 3, ~0ul, ~0ul, 0}), 70'060);
  EXPECT_TRUE(holds(0, 70'000, 70'065)) << "at the position";
  EXPECT_EQ(run(__NR_preadv2, {descriptor, vector, 3, 5, 0, 0x4000'0000}), -EOPNOTSUPP);
  EXPECT_EQ(run(__NR_pwritev, {descriptor, vector, 3, 0, 0}), 70'060);
  EXPECT_EQ(run(__NR_pwritev2, {descriptor, vector, 2, 200'000, 0, RWF_DSYNC}), 70'050);
  EXPECT_EQ(run(__NR_writev, {descriptor, vector, 1}), 70'000);
  EXPECT_EQ(run(__NR_readv, {descriptor, word(address), 3}), -EFAULT) << "the vector itself";
  EXPECT_EQ(run(__NR_readv, {descriptor, 4096, 3}), -EFAULT);
  EXPECT_EQ(run(__NR_readv, {descriptor, vector, 100'000}), -EINVAL);
}

TEST_P(DeviceCall, a_buffer_that_leaves_its_range_is_refused) {
  const auto beyond = word(address + device_bytes - 100);
  EXPECT_EQ(run(__NR_pread64, {descriptor, beyond, 101, 0}), -EFAULT);
  EXPECT_EQ(run(__NR_pwrite64, {descriptor, beyond, 101, 0}), -EFAULT);
  ASSERT_EQ(::lseek(file.descriptor(), 7, SEEK_SET), 7);
  EXPECT_EQ(run(__NR_read, {descriptor, beyond, 101}), -EFAULT);
  // More than positioned_bytes_min, of which the file has less than the range.
  EXPECT_EQ(run(__NR_read, {descriptor, word(address + 1), device_bytes}), -EFAULT);
  EXPECT_EQ(run(__NR_write, {descriptor, beyond, 101}), -EFAULT);
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), 7);
}

TEST_P(DeviceCall, copies_that_fail_are_told) {
  device.memory->refuse_copy(device.memory->copies(), EIO);
  EXPECT_EQ(run(__NR_pread64, {descriptor, word(address), 100, 0}), -EIO);
  device.memory->refuse_copy(device.memory->copies(), EIO);
  EXPECT_EQ(run(__NR_write, {descriptor, word(address), 100}), -EIO);
}

TEST_P(DeviceCall, of_memory_that_the_host_cannot_reach_only_reads_and_writes_are_admitted) {
  FakeBackend backend;
  backend.hidden_begin = reinterpret_cast<std::uintptr_t>(address);
  backend.hidden_end = backend.hidden_begin + device_bytes + 100;
  const auto admitted = [&](int number, std::initializer_list<std::uint64_t> words) {
    return admit(request_of(number, words), Openness::any, backend, *files);
  };
  EXPECT_EQ(admitted(__NR_pread64, {descriptor, word(address), device_bytes, 0}), 0);
  EXPECT_EQ(admitted(__NR_write, {descriptor, word(address), 1}), 0);
  EXPECT_EQ(admitted(__NR_pread64, {descriptor, word(address), device_bytes + 1, 0}), -EFAULT);
  EXPECT_EQ(admitted(__NR_pread64, {descriptor, word(address + device_bytes), 1, 0}), -EFAULT);
  EXPECT_EQ(admitted(__NR_fstat, {descriptor, word(address)}), -EFAULT);
}

TEST_P(DeviceCall, memory_that_was_taken_back_is_the_kernels) {
  ASSERT_TRUE(RegisteredMemory::of_process().remove(address).ok());
  EXPECT_EQ(run(__NR_pread64, {descriptor, word(address), 100'000, 0}), -EFAULT);
  ASSERT_EQ(::lseek(file.descriptor(), 0, SEEK_SET), 0);
  EXPECT_EQ(run(__NR_read, {descriptor, word(address), 100'000}), -EFAULT);
}

INSTANTIATE_TEST_SUITE_P(Files, DeviceCall, testing::Bool(), [](const auto& each) {
  return each.param ? "with_the_router" : "without_it";
});

}  // namespace
}  // namespace k2k::services
