// Goal: a large read(2) that the router serves answers as Linux' does, wherever the position is and
// whoever else moves it. Method: real files; a second descriptor of the description looks at the
// position.

#include <asm/unistd.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "calls/rows.hpp"
#include "router/door/files.hpp"
#include "router/file/file_fixture.hpp"
#include "services/services.hpp"

namespace k2k::services {
namespace {

constexpr std::size_t long_file_bytes = (3 << 20) + 777;

class RoutedRead : public testing::Test {
 protected:
  void SetUp() override {
    auto made = router::FileReader::create({});
    ASSERT_TRUE(made.ok()) << made.error().message;
    files = std::make_unique<router::Files>(std::move(made).value());
    ASSERT_EQ(::lseek(file.descriptor(), 0, SEEK_SET), 0);
  }
  static Request request_of(int descriptor, void* into, std::uint64_t bytes) {
    Request request;
    request.number = __NR_read;
    request.row = static_cast<std::int16_t>(calls::find(__NR_read));
    request.arguments[0] = static_cast<std::uint64_t>(descriptor);
    request.arguments[1] = reinterpret_cast<std::uint64_t>(into);
    request.arguments[2] = bytes;
    return request;
  }
  // By the handler, however it serves it.
  std::int64_t read(int descriptor, void* into, std::uint64_t bytes) {
    Progress progress;
    const Request request = request_of(descriptor, into, bytes);
    const Answer answer = execute_without_waiting(request, progress, *files);
    if (!answer.would_wait) return answer.value;
    return execute_waiting(request, progress, {}, *files);
  }
  std::uint64_t routed() { return files->stats().reads; }

  router::DataFile file{long_file_bytes};
  router::Memory memory = router::memory_of(2 * long_file_bytes);
  std::unique_ptr<router::Files> files;
};

TEST_F(RoutedRead, goes_through_a_file_as_the_kernel_does) {
  std::mt19937_64 random(11);
  for (const bool cached : {true, false}) {
    if (!cached) file.evict();
    std::size_t done = 0;
    ASSERT_EQ(::lseek(file.descriptor(), 0, SEEK_SET), 0);
    while (done < long_file_bytes) {
      const std::size_t bytes = 1 + random() % (400 << 10);
      const std::size_t wanted = std::min(bytes, long_file_bytes - done);
      ASSERT_EQ(read(file.descriptor(), memory.get() + done, bytes),
                static_cast<std::int64_t>(wanted));
      done += wanted;
      ASSERT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), static_cast<off_t>(done));
    }
    EXPECT_EQ(read(file.descriptor(), memory.get(), 1 << 20), 0);
    EXPECT_TRUE(std::equal(file.bytes().begin(), file.bytes().end(), memory.get()));
  }
  EXPECT_GT(routed(), 0u);
}

TEST_F(RoutedRead, ends_where_the_file_does_and_leaves_the_position_there) {
  ASSERT_EQ(read(file.descriptor(), memory.get(), 2 * long_file_bytes),
            static_cast<std::int64_t>(long_file_bytes));
  EXPECT_EQ(routed(), 1u);
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), static_cast<off_t>(long_file_bytes));
  EXPECT_EQ(memory.get()[long_file_bytes], std::byte{0xee});
}

TEST_F(RoutedRead, gives_back_the_position_where_the_memory_is_none) {
  ASSERT_EQ(::lseek(file.descriptor(), 4096, SEEK_SET), 4096);
  EXPECT_EQ(read(file.descriptor(), reinterpret_cast<void*>(std::uintptr_t{4096}), 1 << 20),
            -EFAULT);
  EXPECT_EQ(routed(), 1u);
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), 4096);
}

TEST_F(RoutedRead, leaves_to_the_kernel_what_it_does_as_well_or_knows_better) {
  const auto left = [&](int descriptor, std::uint64_t bytes) {
    return !files->read(descriptor, memory.get(), bytes, router::Patience::endless);
  };
  EXPECT_TRUE(left(file.descriptor(), router::positioned_bytes_min - 1));
  EXPECT_FALSE(left(file.descriptor(), router::positioned_bytes_min));
  ASSERT_EQ(::lseek(file.descriptor(), -1000, SEEK_END),
            static_cast<off_t>(long_file_bytes - 1000));
  EXPECT_TRUE(left(file.descriptor(), 1 << 20)) << "little is left";
  EXPECT_EQ(read(file.descriptor(), memory.get(), 1 << 20), 1000);

  const int write_only = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_TRUE(left(write_only, 1 << 20));
  EXPECT_EQ(read(write_only, memory.get(), 1 << 20), -EBADF);
  ::close(write_only);
  EXPECT_EQ(read(-1, memory.get(), 1 << 20), -EBADF);

  const int proc = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  EXPECT_TRUE(left(proc, 1 << 20));
  EXPECT_GT(read(proc, memory.get(), 1 << 20), 0);
  ::close(proc);
}

TEST_F(RoutedRead, gives_every_byte_to_one_of_many_threads) {
  constexpr int threads = 4;
  constexpr std::size_t bytes = 100 << 10;
  std::vector<std::atomic<int>> seen(long_file_bytes / 8);
  std::atomic<std::size_t> all{0};
  // Words of the file are random: which place a piece is from is told by its first one.
  std::vector<std::pair<std::uint64_t, std::size_t>> places;
  const auto word_at = [](const std::byte* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    return word;
  };
  for (std::size_t at = 0; at + 8 <= long_file_bytes; at += 8) {
    places.emplace_back(word_at(&file.bytes()[at]), at);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::thread> readers;
  for (int thread = 0; thread < threads; ++thread) {
    readers.emplace_back([&] {
      const router::Memory into = router::memory_of(bytes);
      while (true) {
        const std::int64_t count = read(file.descriptor(), into.get(), bytes);
        ASSERT_GE(count, 0);
        if (count == 0) return;
        all += static_cast<std::size_t>(count);
        const std::pair<std::uint64_t, std::size_t> first{word_at(into.get()), 0};
        const auto place = std::lower_bound(places.begin(), places.end(), first);
        ASSERT_TRUE(place != places.end() && place->first == first.first);
        for (std::int64_t at = 0; at + 8 <= count; at += 8) {
          ++seen[place->second / 8 + static_cast<std::size_t>(at) / 8];
        }
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(all, long_file_bytes);
  for (std::size_t word = 0; word < seen.size(); ++word) ASSERT_EQ(seen[word], 1) << word * 8;
  EXPECT_GT(routed(), 0u);
}

}  // namespace
}  // namespace k2k::services
