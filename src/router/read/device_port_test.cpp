// Goal: memory that the CPU cannot address is read and written with Linux' answers, however late
// its copies arrive, and whatever fails. Method: memory of the tests' own whose addresses fault and
// whose copies come late and in any order, real files, compared with the written bytes.
// file_reader_test.cpp has the tests that all memory passes.

#include "router/read/device_port.hpp"

#include <limits.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <thread>

#include "io/memory/separate_memory_fixture.hpp"
#include "router/file/file_fixture.hpp"
#include "router/file/open_files.hpp"

namespace k2k::router {
namespace {

constexpr std::size_t port_bytes = std::size_t{24} << 20;
constexpr std::byte untouched{0xee};

class DevicePortTest : public testing::Test {
 protected:
  DevicePortTest() { std::ranges::fill(memory_->inside(), untouched); }

  // For a device that is slow to begin, so that mixes pay, and with short buffers, so that there
  // are many copies.
  static ReaderConfig config() { return {.model = slow_device(), .grain_pages = 1}; }
  static DeviceChannelsConfig channels() {
    return {.paths = {.buffers = 4, .buffer_bytes = 16 * page}, .channels_kept = 2};
  }
  std::unique_ptr<FileReader> reader() {
    auto made = FileReader::create(memory_, config(), channels());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }

  // Expects Linux' answer and the file's bytes, and that memory around them is untouched.
  void expect_read(FileReader& reader, DataFile& file, std::size_t bytes, std::size_t offset,
                   std::size_t at = page) {
    const auto around = memory_->inside().subspan(at - 64, bytes + 128);
    std::ranges::fill(around, untouched);
    const std::size_t left = offset < file.size() ? file.size() - offset : 0;
    const std::size_t wanted = std::min(bytes, left);
    ASSERT_EQ(reader.pread(file.descriptor(), memory_->address() + at, bytes,
                           static_cast<std::int64_t>(offset)),
              static_cast<ssize_t>(wanted))
        << bytes << " at " << offset;
    expect_bytes(file, wanted, offset, at);
    for (std::size_t byte = 0; byte < 64; ++byte) ASSERT_EQ(around[byte], untouched);
    for (std::size_t byte = 64 + wanted; byte < around.size(); ++byte) {
      ASSERT_EQ(around[byte], untouched) << byte - 64;
    }
  }
  void expect_bytes(DataFile& file, std::size_t bytes, std::size_t offset, std::size_t at) {
    ASSERT_TRUE(bytes == 0 || std::memcmp(memory_->inside().data() + at,
                                          file.bytes().data() + offset, bytes) == 0)
        << bytes << " at " << offset;
  }
  // Caches some pages, so that a read is of both kinds.
  static void cache_some(const DataFile& file) {
    file.cache([](std::size_t at) { return at / 40 % 2 == 0; });
  }
  const std::shared_ptr<io::SeparateMemory> memory_ =
      std::make_shared<io::SeparateMemory>(port_bytes);
};

TEST_F(DevicePortTest, stores_into_memory_that_is_mapped_for_the_cpu) {
  memory_->set_mapped();
  DataFile file(3'000'001);
  cache_some(file);
  const auto read = reader();
  expect_read(*read, file, 2'000'000, 12'345, page + 3);
  file.cache([](std::size_t) { return true; });
  const std::uint32_t before = memory_->copies();
  expect_read(*read, file, 1'000'000, 5000);
  EXPECT_LE(memory_->copies(), before + 4) << "cached pages need no copies of the device";
}

TEST_F(DevicePortTest, expects_cached_pages_to_stay_cached_and_stops_probing) {
  DataFile file(2 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  file.cache([](std::size_t) { return true; });
  const auto read = reader();
  for (std::size_t at = 0; at < 20; ++at) expect_read(*read, file, 8 * page, at * page * 20);
  EXPECT_LT(read->stats().probed, 20u);
  EXPECT_GT(read->stats().unprobed, 0u);
  EXPECT_EQ(read->advise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED), 0);
  const std::uint64_t before = read->stats().probed;
  expect_read(*read, file, 1 << 20, 4 * page);
  EXPECT_EQ(read->stats().probed, before + 1) << "advice is heeded";
}

TEST_F(DevicePortTest, leaves_streams_to_read_ahead_if_that_is_as_fast) {
  DataFile file(8 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  const auto read = reader();
  const auto limit = static_cast<std::size_t>(streamed_bytes_max(config().model));
  ASSERT_LT(2 * limit, config().read_ahead_bytes);
  const auto direct_bytes = [&](std::size_t bytes) {
    file.evict();
    expect_read(*read, file, 4 * page, 1 << 20);
    const std::uint64_t before = read->stats().bytes_direct;
    expect_read(*read, file, bytes, (1 << 20) + 4 * page);
    return read->stats().bytes_direct - before;
  };
  EXPECT_EQ(direct_bytes(limit / page * page), 0u);
  EXPECT_GT(direct_bytes(2 * limit / page * page), 0u);
}

TEST_F(DevicePortTest, answers_wrong_calls_as_the_kernel_does) {
  DataFile file(1 << 20);
  const auto read = reader();
  std::byte* const device = memory_->address();
  std::byte host[16];
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{1} << 20}) {
    EXPECT_EQ(read->pread(-1, device, bytes, 0), -EBADF);
    EXPECT_EQ(read->pread(12345, device, bytes, 0), -EBADF);
    EXPECT_EQ(read->pread(file.descriptor(), device, bytes, -1), -EINVAL);
    EXPECT_EQ(read->pread(ends[0], device, bytes, 0), -ESPIPE);
    EXPECT_EQ(read->pread(ends[1], device, bytes, 0), -ESPIPE);
    EXPECT_EQ(read->pwrite(-1, device, bytes, 0), -EBADF);
    EXPECT_EQ(read->pwrite(file.descriptor(), device, bytes, -1), -EINVAL);
    EXPECT_EQ(read->pwrite(ends[1], device, bytes, 0), -ESPIPE);
  }
  EXPECT_EQ(read->pread(file.descriptor(), device, 0, 0), 0);
  EXPECT_EQ(read->pread(file.descriptor(), device, 0, -1),
            ::pread(file.descriptor(), host, 0, -1) < 0 ? -errno : 0);
  EXPECT_EQ(read->pwrite(file.descriptor(), device, 0, 0), 0);
  const int written = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(read->pread(written, device, 1 << 20, 0), -EBADF);
  ::close(written);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(DevicePortTest, counts_the_bytes_before_a_copy_that_fails) {
  DataFile file(2'000'000);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  for (const std::uint32_t at : {0u, 1u, 5u, 11u, 20u}) {
    const auto read = reader();
    cache_some(file);
    std::ranges::fill(memory_->inside(), untouched);
    memory_->fail_copies_from(memory_->copies() + at, EIO);
    const ssize_t count = read->pread(file.descriptor(), memory_->address(), 1'500'000, 100);
    if (at == 0) {
      EXPECT_EQ(count, -EIO);
    }
    ASSERT_LT(count, 1'500'000);
    if (count > 0) expect_bytes(file, static_cast<std::size_t>(count), 100, 0);
    memory_->fail_copies_from(~0u, 0);
    expect_read(*read, file, 1'500'000, 100);
    EXPECT_EQ(read->stats().files_refused, 0u)
        << "a failure of the device is no refusal of the file";
  }
}

TEST_F(DevicePortTest, mends_a_copy_that_failed_once) {
  DataFile file(2'000'000);
  const auto read = reader();
  cache_some(file);
  memory_->fail_copy(memory_->copies() + 3, EFAULT);
  expect_read(*read, file, 1'500'000, 4096);
}

// Linux' count of this thread's write calls; -1 where it keeps none.
long write_calls() {
  std::ifstream counts("/proc/thread-self/io");
  for (std::string name; counts >> name;) {
    long count = 0;
    counts >> count;
    if (name == "syscw:") return count;
  }
  return -1;
}

TEST_F(DevicePortTest, writes_any_length_by_one_call) {
  DataFile file(4096);
  const auto write = reader();
  for (std::size_t at = 0; at < port_bytes; ++at) {
    memory_->inside()[at] = static_cast<std::byte>(at * 2654435761u >> 11);
  }
  for (const std::size_t bytes : {std::size_t{1}, 3 * page + 5, std::size_t{20} << 20}) {
    long least = std::numeric_limits<long>::max();  // A sanitizer makes calls of its own at first.
    for (int again = 0; again < 3; ++again) {
      const long before = write_calls();
      ASSERT_EQ(write->pwrite(file.descriptor(), memory_->address() + 7, bytes, 1001),
                static_cast<ssize_t>(bytes));
      least = std::min(least, write_calls() - before);
    }
    EXPECT_EQ(least, write_calls() < 0 ? 0 : 1) << bytes;
    std::vector<std::byte> seen(bytes);
    ASSERT_EQ(::pread(file.descriptor(), seen.data(), bytes, 1001), static_cast<ssize_t>(bytes));
    ASSERT_EQ(std::memcmp(seen.data(), memory_->inside().data() + 7, bytes), 0);
  }
  EXPECT_EQ(write->stats().writes, 9u);
}

class LongWrites : public DevicePortTest {
 protected:
  static constexpr std::size_t buffer = 16 * page;

  LongWrites() {
    io::fill(memory_->inside(), 3);
    memory_->set_looks_max(0);
  }
  void expect_write(FileReader& by, std::size_t bytes) {
    ASSERT_EQ(by.pwrite(file_.descriptor(), memory_->address() + 7, bytes, 1001),
              static_cast<ssize_t>(bytes));
    std::vector<std::byte> seen(bytes);
    ASSERT_EQ(::pread(file_.descriptor(), seen.data(), bytes, 1001), static_cast<ssize_t>(bytes));
    ASSERT_EQ(std::memcmp(seen.data(), memory_->inside().data() + 7, bytes), 0);
  }

  DataFile file_{4096};
};

TEST_F(LongWrites, leave_from_pinned_buffers_where_they_have_room) {
  // Copies through other memory of the host have two under way.
  const auto write = reader();
  expect_write(*write, 2 * buffer);
  expect_write(*write, 16 * buffer + 1);
  EXPECT_EQ(memory_->under_way_max(), 2u);
  memory_->refuse_queues(ENOMEM);
  expect_write(*write, 16 * buffer);
  EXPECT_EQ(memory_->under_way_max(), 2u) << "no more can be pinned";
  memory_->refuse_queues(0);
  expect_write(*reader(), 16 * buffer);
  EXPECT_EQ(memory_->under_way_max(), 16u);
}

TEST_F(LongWrites, of_fixed_channels_leave_from_buffers_that_are_pinned_at_the_start) {
  DeviceChannelsConfig fixed = channels();
  fixed.channels_fixed = true;
  const auto for_kernels = FileReader::create(memory_, config(), fixed).value();
  memory_->refuse_queues(ENOMEM);
  expect_write(*for_kernels, 16 * buffer);
  EXPECT_EQ(memory_->under_way_max(), 16u) << "it pins at its start";
  expect_write(*for_kernels, 16 * buffer + 1);
  memory_->refuse_queues(0);
}

TEST_F(DevicePortTest, gives_the_channel_with_buffers_for_long_writes_first) {
  const auto paths = DevicePaths::create(*memory_, channels().paths);
  ASSERT_TRUE(paths.ok());
  DeviceChannels all(paths.value(), config().model, 3);
  ASSERT_TRUE(all.make_all().ok());
  auto with = all.take().value();
  auto without = all.take().value();
  auto another = all.take().value();
  EXPECT_TRUE(with->long_copies);
  EXPECT_FALSE(without->long_copies);
  EXPECT_FALSE(another->long_copies);
  EXPECT_EQ(without->copies_with(DevicePaths::long_copy_buffers), nullptr);
  all.give_back(std::move(with));
  all.give_back(std::move(without));
  all.give_back(std::move(another));
  EXPECT_TRUE(all.take().value()->long_copies);
}

TEST_F(DevicePortTest, writes_vectors_of_any_length_by_one_call) {
  DataFile file(4096);
  const auto write = reader();
  io::fill(memory_->inside(), 3);
  // More pieces than buffers; then the longest vector of Linux, whose pieces leave no room for
  // buffers.
  for (const std::size_t count : {std::size_t{20}, std::size_t{IOV_MAX}}) {
    std::vector<iovec> pieces;
    for (std::size_t at = 0; at < count; ++at) {
      pieces.push_back({memory_->address() + at * page, at % 3 == 0 ? 0 : 2 * page});
    }
    const std::unique_ptr<bool[]> is_device(new bool[count]);
    std::fill_n(is_device.get(), count, true);
    const auto bytes = static_cast<ssize_t>((count - (count + 2) / 3) * 2 * page);
    ASSERT_EQ(write->whole({file.descriptor(), pieces, {is_device.get(), count}, true, 0}), bytes);
    std::vector<std::byte> seen(2 * page);
    std::size_t offset = 0;
    for (std::size_t at = 0; at < count; ++at) {
      if (at % 3 == 0) continue;
      ASSERT_EQ(::pread(file.descriptor(), seen.data(), 2 * page, static_cast<off_t>(offset)),
                ssize_t{2 * page});
      ASSERT_EQ(std::memcmp(seen.data(), memory_->inside().data() + at * page, 2 * page), 0) << at;
      offset += 2 * page;
    }
  }
}

TEST_F(DevicePortTest, writes_nothing_if_a_copy_from_the_device_fails) {
  DataFile file(1 << 20);
  const auto write = reader();
  for (const std::uint32_t at : {0u, 3u}) {
    memory_->fail_copy(memory_->copies() + at, EIO);
    EXPECT_EQ(write->pwrite(file.descriptor(), memory_->address(), 300'000, 4096), -EIO);
  }
  expect_read(*write, file, 1 << 20, 0);
}

TEST_F(DevicePortTest, makes_any_call_through_memory_of_the_host) {
  DataFile file(100'000);
  const auto both = reader();
  std::vector<std::byte> host(5000);
  std::byte* const device = memory_->address();
  const iovec pieces[] = {{device + 10, 3000}, {host.data(), 5000}, {device + 9000, 70'000}};
  const bool is_device[] = {true, false, true};
  ASSERT_EQ(::lseek(file.descriptor(), 500, SEEK_SET), 500);
  EXPECT_EQ(both->whole({file.descriptor(), pieces, is_device}), 78'000);
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), 78'500);
  expect_bytes(file, 3000, 500, 10);
  EXPECT_EQ(std::memcmp(host.data(), file.bytes().data() + 3500, 5000), 0);
  expect_bytes(file, 70'000, 8500, 9000);
  EXPECT_EQ(both->whole({file.descriptor(), pieces, is_device}), 21'500) << "to the file's end";
  EXPECT_EQ(memory_->inside()[9000 + 13'500], file.bytes()[8500 + 13'500])
      << "bytes behind the file's end are untouched";

  const int appending = ::open(file.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  EXPECT_EQ(both->whole({appending, pieces, is_device, true, 0}), 78'000);
  ::close(appending);
  std::vector<std::byte> seen(3000);
  EXPECT_EQ(::pread(file.descriptor(), seen.data(), 3000, 100'000), 3000);
  EXPECT_EQ(std::memcmp(seen.data(), memory_->inside().data() + 10, 3000), 0);

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "hello", 5), 5);
  const iovec piece{device, 100};
  const bool yes = true;
  EXPECT_EQ(both->whole({ends[0], {&piece, 1}, {&yes, 1}}), 5);
  EXPECT_EQ(std::memcmp(memory_->inside().data(), "hello", 5), 0);
  EXPECT_EQ(memory_->inside()[5], untouched);
  EXPECT_EQ(both->whole({ends[0], {&piece, 1}, {&yes, 1}, true}), -EBADF);
  EXPECT_EQ(both->whole({file.descriptor(), {&piece, 1}, {&yes, 1}, false, -2}), -EINVAL);
  EXPECT_EQ(both->whole({file.descriptor(), {&piece, 1}, {&yes, 1}, false, 0, 0x4000'0000}),
            -EOPNOTSUPP);
  memory_->fail_copy(memory_->copies(), EFAULT);
  EXPECT_EQ(both->whole({file.descriptor(), {&piece, 1}, {&yes, 1}, false, 0}), -EFAULT);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(DevicePortTest, reads_files_of_a_file_system_without_direct_transfers) {
  const int file = ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) GTEST_SKIP() << "no tmpfs";
  std::vector<std::byte> bytes(1 << 20, std::byte{9});
  ASSERT_EQ(::write(file, bytes.data(), bytes.size()), 1 << 20);
  const auto read = reader();
  EXPECT_EQ(read->pread(file, memory_->address(), 1 << 20, 1000), (1 << 20) - 1000);
  EXPECT_EQ(std::memcmp(memory_->inside().data(), bytes.data(), bytes.size() - 1000), 0);
  EXPECT_EQ(read->stats().bytes_direct, 0u);
  EXPECT_EQ(read->stats().files_refused, 1u);
  ::close(file);
}

TEST_F(DevicePortTest, serves_threads_with_a_channel_each) {
  DataFile file(4 << 20);
  cache_some(file);
  const auto read = reader();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t number = 0; number < 6; ++number) {
    threads.emplace_back([&, number] {
      const std::size_t at = number * (3 << 20);
      for (std::size_t round = 0; round < 6; ++round) {
        const std::size_t offset = (number * 7 + round * 131) * page;
        const ssize_t count = read->pread(file.descriptor(), memory_->address() + at, 2 << 20,
                                          static_cast<std::int64_t>(offset));
        const std::size_t wanted = std::min(std::size_t{2} << 20, file.size() - offset);
        if (count != static_cast<ssize_t>(wanted) ||
            std::memcmp(memory_->inside().data() + at, file.bytes().data() + offset, wanted) != 0) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(DevicePortTest, requests_the_model_of_its_own_engine_and_file) {
  DataFile file(4 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  std::vector<std::string> asked;
  ReaderConfig wanted = config();
  wanted.model_of = [&](int descriptor, const std::string& engine) -> std::optional<Model> {
    EXPECT_EQ(descriptor, file.descriptor());
    asked.push_back(engine);
    // A copy costs next to nothing, and a direct transfer a second: all cached pages are copied.
    return Model{.call_us = 1, .cutoff_bytes = 0, .direct_gbs = 0.1, .cache_gbs = 100};
  };
  const auto read = FileReader::create(memory_, wanted, channels()).value();
  cache_some(file);
  expect_read(*read, file, 1 << 20, 0);
  expect_read(*read, file, 1 << 20, 3000);
  ASSERT_EQ(asked.size(), 1u) << "one request per file";
  EXPECT_TRUE(asked[0] == "separate-staging-uring" || asked[0] == "separate-staging-pool")
      << asked[0];
}

TEST_F(DevicePortTest, gives_the_reason_of_a_refusal) {
  memory_->refuse_queues(ENOMEM);
  const auto made = FileReader::create(memory_, config(), channels());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ENOMEM);
  EXPECT_NE(made.error().message.find("ulimit -l"), std::string::npos) << made.error().message;

  memory_->refuse_queues(0);
  DeviceChannelsConfig wrong = channels();
  wrong.channels_kept = 0;
  EXPECT_EQ(FileReader::create(memory_, config(), wrong).error().message,
            "channels_kept is 0; permitted are 1 to 256");
  wrong = channels();
  wrong.paths.buffer_bytes = 100;
  EXPECT_EQ(FileReader::create(memory_, config(), wrong).error().code, EINVAL);
  ReaderConfig model = config();
  model.model.direct_gbs = -1;
  EXPECT_EQ(FileReader::create(memory_, model, channels()).error().code, EINVAL);
}

TEST_F(DevicePortTest, answers_with_enomem_if_no_further_channel_can_be_pinned) {
  DataFile file(1 << 20);
  if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  FileReader* read = nullptr;
  ssize_t within = 0;
  ssize_t tried = 0;
  ReaderConfig asking = config();
  asking.model_of = [&](int descriptor, const std::string&) -> std::optional<Model> {
    // The outer request has the only channel.
    within = read->pread(descriptor, memory_->address(), 16, 0);
    tried = read->try_pread(descriptor, memory_->address(), 16, 0);
    return {};
  };
  const auto made = FileReader::create(memory_, asking, channels()).value();
  read = made.get();
  memory_->refuse_queues(ENOMEM);
  file.evict();
  expect_read(*read, file, 1 << 19, 0);
  EXPECT_EQ(within, -ENOMEM);
  EXPECT_EQ(tried, -EAGAIN) << "it creates no channel: another thread does";
}

TEST_F(DevicePortTest, a_read_that_must_not_wait_has_the_error_of_its_copy) {
  DataFile file(1 << 20);
  file.cache([](std::size_t) { return true; });
  constexpr std::size_t bytes = 3000;  // Short: read without a probe.
  const auto read = reader();
  const auto tried = [&] {
    return read->try_pread(file.descriptor(), memory_->address(), bytes, 5);
  };
  if (tried() == -EAGAIN) GTEST_SKIP() << "no RWF_NOWAIT on this file system";
  expect_bytes(file, bytes, 5, 0);
  EXPECT_EQ(memory_->inside()[bytes], untouched);
  memory_->fail_copy(memory_->copies(), EIO);
  EXPECT_EQ(tried(), -EIO);
  EXPECT_EQ(tried(), ssize_t{bytes});
  EXPECT_EQ(read->stats().bytes_cache, 2 * bytes) << "without the bytes that the device refused";
}

TEST_F(DevicePortTest, a_child_gets_the_error_that_it_has_no_such_memory) {
  DataFile file(1 << 20);
  cache_some(file);
  const auto read = reader();
  expect_read(*read, file, 1 << 20, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    read->after_fork_child();
    const iovec piece{memory_->address(), 16};
    const bool yes = true;
    const bool right =
        read->pread(file.descriptor(), memory_->address(), 1 << 20, 0) == -EFAULT &&
        read->try_pread(file.descriptor(), memory_->address(), 16, 0) == -EFAULT &&
        read->pwrite(file.descriptor(), memory_->address(), 16, 0) == -EFAULT &&
        read->whole({file.descriptor(), {&piece, 1}, {&yes, 1}, false, 0}) == -EFAULT;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_read(*read, file, 1 << 20, 0);
}

}  // namespace
}  // namespace k2k::router
