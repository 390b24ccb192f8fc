// Goal: on a file system that fails, reports wrong sizes, answers short or not at all, the router's
// answers are those of pread(2); a refusal is remembered and counted; and only readers of that file
// system wait for it. Method: FileReader in this process on the fault file system, beside plain
// preads of the same file.

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "router/file/open_files.hpp"
#include "tests/faults/file_reader_fixture.hpp"

namespace k2k::faults::file_reader_test {
namespace {

bool is_over(const std::future<void>& work) {
  return work.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
}

TEST_F(FileReaderOnFaults, ends_before_a_bad_byte_or_has_its_error) {
  const io::Opened file = open("data");
  const auto reader = make_reader();
  const Piece pieces[] = {{1 << 20, 0},        {1 << 20, page},       {2 << 20, 5},
                          {8 << 20, 0},        {page, 201 * page},    {3 * page, 198 * page},
                          {64 << 10, 1 << 20}, {300'000, 500 * page}, {1 << 20, file_bytes - 100}};
  for (const std::size_t bad : {page, 201 * page + 7, file_bytes - 1}) {
    for (const std::size_t every : {0, 2, 40}) {
      if (is_brief && every == 40) continue;
      for (const Piece& piece : pieces) {
        cache(file, every);
        control().bad_byte = bad;
        const Answer kernels = plain(file.number(), piece);
        control().bad_byte = Control::none;
        cache(file, every);
        control().bad_byte = bad;
        EXPECT_EQ(routed(*reader, file.number(), piece), kernels)
            << piece.bytes << " at " << piece.offset << ", bad " << bad << ", every " << every;
        control().bad_byte = Control::none;
      }
    }
  }
  EXPECT_GT(control().failed, 0u);
  const ReaderStats stats = reader->stats();
  EXPECT_GT(stats.fall_backs, 0u);
  EXPECT_GT(stats.bytes_direct, 0u);
  EXPECT_EQ(stats.files_refused, 0u) << "the page cache failed as well: no refusal";
}

class Refusals : public FileReaderOnFaults, public testing::WithParamInterface<int> {};

TEST_P(Refusals, of_direct_reads_are_remembered_of_each_file_and_then_of_the_device) {
  const auto reader = make_reader();
  control().direct_read_error = GetParam();
  constexpr std::uint64_t files = 6;
  constexpr std::uint64_t tried = router::DirectDevice::refusals_max;
  std::uint64_t reads_of_tried = 0;
  for (std::uint64_t number = 1; number <= files; ++number) {
    const io::Opened file = open("data" + std::to_string(number));
    for (int again = 0; again < 3; ++again) {
      expect_same(*reader, file.number(), {1 << 20, page});
      if (again == 0 && number <= tried) {
        EXPECT_GT(control().direct_reads, reads_of_tried);
        reads_of_tried = control().direct_reads;
      }
      EXPECT_EQ(control().direct_reads, reads_of_tried) << "one attempt per file";
      EXPECT_EQ(reader->stats().files_refused, number);
    }
    EXPECT_EQ(control().direct_opens, std::min(number, tried));
    reader->closing(file.number());
  }
  EXPECT_GE(reader->stats().fall_backs, tried);
  EXPECT_EQ(reader->stats().bytes_direct, 0u);
}

TEST_P(Refusals, count_for_the_file_only_where_the_device_has_direct_reads) {
  const auto reader = make_reader();
  const io::Opened good = open("good");
  expect_same(*reader, good.number(), {1 << 20, page});
  ASSERT_GT(reader->stats().bytes_direct, 0u);
  control().direct_read_error = GetParam();
  constexpr std::uint64_t files = 5;
  for (std::uint64_t number = 1; number <= files; ++number) {
    const io::Opened file = open("data" + std::to_string(number));
    expect_same(*reader, file.number(), {1 << 20, page});
    EXPECT_EQ(reader->stats().files_refused, number);
  }
  EXPECT_EQ(control().direct_opens, files + 1) << "each file was tried";
}

// io_uring takes EOPNOTSUPP for "not without waiting" and retries for ever. A file's first transfer
// therefore does not use io_uring.
TEST_F(FileReaderOnFaults, asks_once_where_direct_reads_are_not_supported) {
  const io::Opened file = open("data");
  const auto reader = make_reader();
  control().direct_read_error = EOPNOTSUPP;
  for (int again = 0; again < 3; ++again) expect_same(*reader, file.number(), {64 << 10, page});
  EXPECT_EQ(control().direct_reads, 1u);
  EXPECT_EQ(reader->stats().fall_backs, 1u);
  EXPECT_EQ(reader->stats().files_refused, 1u);
}

TEST_F(FileReaderOnFaults, asks_once_of_a_later_file_too_even_for_a_mixed_request) {
  const auto reader = make_reader();
  const io::Opened good = open("good");
  expect_same(*reader, good.number(), {1 << 20, page});
  ASSERT_GT(reader->stats().bytes_direct, 0u);
  control().direct_read_error = EOPNOTSUPP;
  const io::Opened file = open("data");
  cache(file, 0);
  ::posix_fadvise(file.number(), 0, 0, POSIX_FADV_RANDOM);
  plain(file.number(), {1 << 20, 1 << 20});  // Cached, between two uncached stretches.
  const std::uint64_t reads = control().direct_reads;
  const Answer ours = routed(*reader, file.number(), {3 << 20, 0});
  EXPECT_EQ(ours.count, 3 << 20);
  EXPECT_TRUE(io::holds_content(ours.bytes, 0));
  EXPECT_EQ(control().direct_reads, reads + 1);
  EXPECT_EQ(reader->stats().files_refused, 1u);
}

INSTANTIATE_TEST_SUITE_P(, Refusals, testing::Values(EREMOTEIO, EINVAL, EIO, EOPNOTSUPP),
                         [](const auto& one) { return std::string(strerrorname_np(one.param)); });

TEST_F(FileReaderOnFaults,
       reads_by_the_page_cache_where_there_is_no_o_direct_and_counts_the_files) {
  control().direct_open_error = EINVAL;
  const auto reader = make_reader();
  constexpr std::uint64_t files = 5;
  for (std::uint64_t number = 1; number <= files; ++number) {
    const io::Opened file = open("data" + std::to_string(number));
    for (const Piece& piece : {Piece{1 << 20, page}, Piece{8 << 20, 0}}) {
      expect_same(*reader, file.number(), piece);
    }
    EXPECT_EQ(reader->stats().files_refused, number);
  }
  EXPECT_EQ(control().direct_opens, router::DirectDevice::refusals_max);
  EXPECT_EQ(reader->stats().bytes_direct, 0u);
}

TEST_F(FileReaderOnFaults, answers_short_reads_with_as_many_bytes_as_the_kernel_at_least) {
  control().uncached = 1;
  const io::Opened file = open("data");
  const auto reader = make_reader();
  for (const std::uint64_t most : {100'000, 4096, 1'000'000}) {
    control().read_bytes_max = most;
    for (const Piece& piece : {Piece{1 << 20, 0}, Piece{2 << 20, 5}, Piece{8 << 20, page}}) {
      const Answer kernels = plain(file.number(), piece);
      const Answer ours = routed(*reader, file.number(), piece);
      EXPECT_GE(ours.count, kernels.count);
      EXPECT_TRUE(io::holds_content(ours.bytes, piece.offset));
    }
    std::size_t at = 0;
    while (at < file_bytes) {
      const Answer next = routed(*reader, file.number(), {300'000, at});
      ASSERT_GT(next.count, 0);
      ASSERT_TRUE(io::holds_content(next.bytes, at));
      at += next.bytes.size();
    }
    EXPECT_EQ(at, file_bytes);
    EXPECT_EQ(routed(*reader, file.number(), {300'000, at}).count, 0);
  }
}

TEST_F(FileReaderOnFaults, answers_as_the_kernel_where_the_reported_size_is_wrong) {
  const auto reader = make_reader();
  for (const std::uint32_t uncached : {1u, 0u}) {
    control().said_bytes = Control::none;
    control().uncached = uncached;
    const io::Opened file = open(uncached != 0 ? "uncached" : "cached");
    for (const std::uint64_t said : {std::uint64_t{0}, std::uint64_t{1 << 20}, 2 * file_bytes}) {
      control().said_bytes = said;
      for (const Piece& piece : {Piece{1 << 20, 0}, Piece{2 << 20, page}, Piece{8 << 20, 0},
                                 Piece{1 << 20, 1 << 20}, Piece{1 << 20, file_bytes}}) {
        evict(file.number());
        const Answer kernels = plain(file.number(), piece);
        evict(file.number());
        const Answer ours = routed(*reader, file.number(), piece);
        const std::string what = std::to_string(piece.bytes) + " at " +
                                 std::to_string(piece.offset) + ", said " + std::to_string(said) +
                                 ", uncached " + std::to_string(uncached);
        if (said <= file_bytes || uncached != 0) {
          EXPECT_EQ(ours, kernels) << what;
          continue;
        }
        // Behind its data the file reads as zeros, as far as the kernel happened to read ahead.
        const std::size_t there = std::min(piece.bytes, file_bytes - piece.offset);
        for (const Answer& answer : {ours, kernels}) {
          ASSERT_GE(answer.bytes.size(), there) << what;
          EXPECT_TRUE(io::holds_content(std::span(answer.bytes).first(there), piece.offset))
              << what;
        }
      }
    }
  }
}

TEST_F(FileReaderOnFaults, delays_no_other_reader_while_the_open_of_a_twin_hangs) {
  const io::Opened slow = open("slow");
  const io::Opened other = open("other");
  DataFile local(1 << 20);
  const auto reader = make_reader();
  const Answer wanted = plain(slow.number(), {1 << 20, page});
  const Answer other_wanted = plain(other.number(), {1 << 20, page});
  evict(slow.number());
  // The reader knows this file before the fault.
  EXPECT_EQ(routed(*reader, other.number(), {1 << 20, page}), other_wanted);
  control().hold_direct_opens = 1;
  auto held = std::async(std::launch::async, [&] {
    EXPECT_EQ(routed(*reader, slow.number(), {1 << 20, page}), wanted);
  });
  wait_for_held(1);
  auto others = std::async(std::launch::async, [&] {
    local.evict();
    EXPECT_EQ(routed(*reader, local.descriptor(), {1 << 19, page}).count, 1 << 19);
    reader->closing(local.descriptor());
    EXPECT_EQ(routed(*reader, other.number(), {1 << 20, page}), other_wanted);
    // Another read of the slow file comes by the page cache.
    EXPECT_EQ(routed(*reader, slow.number(), {1 << 20, page}), wanted);
  });
  EXPECT_TRUE(is_over(others));
  EXPECT_EQ(control().held, 1u);
  control().hold_direct_opens = 0;
  EXPECT_TRUE(is_over(held));
  evict(slow.number());
  const std::uint64_t before = control().direct_reads;
  EXPECT_EQ(routed(*reader, slow.number(), {1 << 20, page}), wanted);
  EXPECT_GT(control().direct_reads, before) << "the twin is open now";
}

TEST_F(FileReaderOnFaults, closes_a_twin_that_is_opened_after_its_file_was_closed) {
  const io::Opened slow = open("slow");
  const auto reader = make_reader();
  control().hold_direct_opens = 1;
  auto held = std::async(std::launch::async, [&] {
    EXPECT_EQ(routed(*reader, slow.number(), {1 << 20, page}).count, 1 << 20);
  });
  wait_for_held(1);
  reader->closing(slow.number());  // Gives up waiting for the twin.
  EXPECT_EQ(control().held, 1u);
  control().hold_direct_opens = 0;
  EXPECT_TRUE(is_over(held));
  int twins = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const auto target = std::filesystem::read_symlink(entry.path(), none);
    const bool of_slow = target.filename() == "slow";
    twins += of_slow && k2k::is_own(std::stoi(entry.path().filename())) ? 1 : 0;
  }
  EXPECT_EQ(twins, 0);
  evict(slow.number());
  EXPECT_EQ(routed(*reader, slow.number(), {1 << 20, page}).count, 1 << 20);
  EXPECT_GT(reader->stats().bytes_direct, 0u) << "the next request opens a twin";
}

TEST_F(FileReaderOnFaults, lets_others_read_while_every_channel_waits_for_a_slow_file_system) {
  constexpr int channels = 2;
  constexpr int readers = 6;
  const auto reader = make_reader(channels);
  const io::Opened slow = open("slow");
  DataFile local(4 << 20);
  const Answer wanted = plain(slow.number(), {1 << 20, page});
  evict(slow.number());
  control().hold_reads = 1;
  std::vector<std::future<void>> held;
  for (int number = 0; number < readers; ++number) {
    held.push_back(std::async(std::launch::async, [&] {
      EXPECT_EQ(routed(*reader, slow.number(), {1 << 20, page}), wanted);
    }));
  }
  wait_for_held(channels);
  auto others = std::async(std::launch::async, [&] {
    for (int number = 0; number < 5; ++number) {
      local.evict();
      EXPECT_EQ(routed(*reader, local.descriptor(), {1 << 20, page}).count, 1 << 20);
    }
  });
  EXPECT_TRUE(is_over(others));
  EXPECT_GE(control().held, 1u);
  control().hold_reads = 0;
  for (const auto& each : held) EXPECT_TRUE(is_over(each));
}

TEST_F(FileReaderOnFaults, reads_the_content_before_or_after_a_concurrent_cut) {
  const io::Opened file = open("data");
  const io::Opened behind = io::open_file(system().folder() + "/data", O_RDWR);
  const auto reader = make_reader();
  std::vector<std::byte> content(file_bytes);
  io::fill(content, 0);
  std::atomic<bool> over{false};
  std::thread cutter([&] {
    for (std::size_t round = 0; !over; ++round) {
      const std::size_t left = round * 7919 * page % file_bytes;
      EXPECT_EQ(::ftruncate(behind.number(), static_cast<off_t>(left)), 0);
      EXPECT_EQ(
          ::pwrite(behind.number(), &content[left], file_bytes - left, static_cast<off_t>(left)),
          static_cast<ssize_t>(file_bytes - left));
    }
  });
  for (int request = 0; request < (is_brief ? 8 : 40); ++request) {
    if (request % 2 == 0) evict(file.number());
    const Piece piece{2 << 20, request % 3 * 100 * page};
    const Answer answer = routed(*reader, file.number(), piece);
    EXPECT_GE(answer.count, 0);
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < answer.bytes.size(); ++at) {
      const bool right = answer.bytes[at] == content[piece.offset + at];
      wrong += right || answer.bytes[at] == std::byte{0} ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0u);
  }
  over = true;
  cutter.join();
  // The faults are over and have no lasting effect.
  evict(file.number());
  EXPECT_TRUE(io::holds_content(routed(*reader, file.number(), {8 << 20, 0}).bytes, 0));
}

TEST_F(FileReaderOnFaults, reads_the_opened_file_when_another_takes_its_name) {
  const io::Opened file = open("data");
  const auto reader = make_reader();
  const std::string name = system().mount_point() + "/data";
  const std::vector<std::byte> others(file_bytes, std::byte{0x5a});
  std::atomic<int> replaced{0};
  std::thread replacer([&] {
    for (; replaced < 20; ++replaced) {
      const std::string fresh = name + ".new";
      const io::Opened made = io::open_file(fresh, O_WRONLY | O_CREAT);
      EXPECT_EQ(::write(made.number(), others.data(), file_bytes),
                static_cast<ssize_t>(file_bytes));
      EXPECT_EQ(std::rename(fresh.c_str(), name.c_str()), 0);
    }
  });
  do {
    evict(file.number());
    const Answer answer = routed(*reader, file.number(), {1 << 20, page});
    EXPECT_EQ(answer.count, 1 << 20);
    EXPECT_TRUE(io::holds_content(answer.bytes, page));
  } while (replaced < 20);
  replacer.join();
  const io::Opened now = io::open_file(name, O_RDONLY);
  evict(now.number());
  const Answer answer = routed(*reader, now.number(), {1 << 20, page});
  EXPECT_EQ(answer.bytes, std::vector<std::byte>(1 << 20, std::byte{0x5a}));
}

// No fault of a file system: the process has no free descriptor for a twin.
TEST(FileReaderWithoutDescriptors, reads_by_the_page_cache_until_descriptors_are_free) {
  DataFile file(4 << 20);
  if (!io::DirectFile::open(file.descriptor(), io::DirectFile::Access::read)) {
    GTEST_SKIP() << "no direct transfers in this folder";
  }
  // UBSan opens a pipe to look at a class for the first time: here, before descriptors run out.
  file.evict();
  EXPECT_EQ(routed(*make_reader(), file.descriptor(), {1 << 20, page}).count, 1 << 20);
  const auto reader = make_reader();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit lowered = before;
  lowered.rlim_cur = static_cast<rlim_t>(io::Opened(::dup(file.descriptor())).number());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  Answer without;
  for (int again = 0; again < 3; ++again) {
    file.evict();
    without = routed(*reader, file.descriptor(), {1 << 20, page});
    EXPECT_EQ(reader->stats().bytes_direct, 0u);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  file.evict();
  EXPECT_EQ(routed(*reader, file.descriptor(), {1 << 20, page}), without);
  EXPECT_EQ(without.count, 1 << 20);
  EXPECT_GT(reader->stats().bytes_direct, 0u);
  EXPECT_EQ(reader->stats().files_refused, 0u);
}

}  // namespace
}  // namespace k2k::faults::file_reader_test
