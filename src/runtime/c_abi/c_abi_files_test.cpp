// Goal: C reads files by the router without a runtime, and every failure is a negative errno with a
// line of text.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <k2k/k2k.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t file_bytes = 4 * 1024 * 1024 + 100;

struct alignas(page_bytes) Page {
  unsigned char bytes[page_bytes];
};

unsigned char byte_at(std::size_t offset) {
  return static_cast<unsigned char>((offset * 2654435761u) >> 13);
}

// A file of its own on the file system of the current directory, where O_DIRECT is likely.
class CAbiFiles : public testing::Test {
 protected:
  CAbiFiles() {
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    const std::string path = std::string(folder_) + "/data";
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    std::vector<unsigned char> data(file_bytes);
    for (std::size_t at = 0; at < file_bytes; ++at) data[at] = byte_at(at);
    EXPECT_EQ(::pwrite(descriptor_, data.data(), file_bytes, 0), ssize_t{file_bytes});
    EXPECT_EQ(::fsync(descriptor_), 0);
    EXPECT_EQ(k2k_files_create(nullptr, &files_), 0) << k2k_last_error();
  }
  ~CAbiFiles() override {
    k2k_files_destroy(files_);
    ::close(descriptor_);
    std::filesystem::remove_all(folder_);
  }
  void expect_file(std::size_t offset, std::size_t bytes) {
    auto* const memory = memory_.data()->bytes + offset % page_bytes;
    std::memset(memory, 0, bytes);
    const std::size_t want = std::min(bytes, file_bytes - std::min(offset, file_bytes));
    ASSERT_EQ(k2k_files_pread(files_, descriptor_, memory, bytes, static_cast<int64_t>(offset)),
              static_cast<int64_t>(want))
        << k2k_last_error();
    for (std::size_t at = 0; at < want; ++at) {
      ASSERT_EQ(memory[at], byte_at(offset + at)) << "at " << offset + at;
    }
  }
  void drop_cache() { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }
  nlohmann::json stats() {
    size_t needed = 0;
    EXPECT_EQ(k2k_files_stats_json(files_, nullptr, 0, &needed), -ERANGE);
    std::string text(needed + 64, '\0');  // Counters may have more digits the second time.
    EXPECT_EQ(k2k_files_stats_json(files_, text.data(), text.size(), nullptr), 0);
    return nlohmann::json::parse(text.c_str());
  }

  char folder_[32] = "c_abi_files_XXXXXX";
  int descriptor_ = -1;
  k2k_files* files_ = nullptr;
  std::vector<Page> memory_ = std::vector<Page>(file_bytes / page_bytes + 3);
};

TEST_F(CAbiFiles, reads_the_files_content_cold_and_cached) {
  for (const bool cold : {true, false}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4096}, std::size_t{1234567}}) {
      if (cold) drop_cache();
      expect_file(offset, 2 * 1024 * 1024);
      expect_file(offset, 100);
    }
    if (cold) drop_cache();
    expect_file(0, file_bytes + page_bytes);
    expect_file(file_bytes - 10, 100);
    expect_file(file_bytes, 100);
  }
}

TEST_F(CAbiFiles, statistics_count_the_bytes_of_each_way) {
  drop_cache();
  expect_file(0, file_bytes);
  const nlohmann::json now = stats();
  EXPECT_EQ(now["reads"], 1);
  EXPECT_EQ(now["bytes_cache"].get<std::size_t>() + now["bytes_direct"].get<std::size_t>(),
            file_bytes);
  char small[4] = "abc";
  EXPECT_EQ(k2k_files_stats_json(files_, small, sizeof(small), nullptr), -ERANGE);
  EXPECT_STREQ(small, "");
}

TEST_F(CAbiFiles, closing_a_descriptor_closes_the_twin_of_its_file) {
  const auto descriptors_of_the_file = [&] {
    struct stat ours{};
    EXPECT_EQ(::fstat(descriptor_, &ours), 0);
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      struct stat facts{};
      if (::stat(entry.path().c_str(), &facts) != 0) continue;
      count += facts.st_ino == ours.st_ino && facts.st_dev == ours.st_dev ? 1 : 0;
    }
    return count;
  };
  drop_cache();
  expect_file(0, file_bytes);
  if (descriptors_of_the_file() != 2) GTEST_SKIP() << "no direct transfers on this file system";
  EXPECT_EQ(k2k_files_closing(files_, descriptor_), 0);
  EXPECT_EQ(descriptors_of_the_file(), 1);
  EXPECT_EQ(k2k_files_closing(files_, -1), 0);
  expect_file(0, file_bytes);
}

TEST_F(CAbiFiles, failures_are_those_of_pread_with_the_request_in_the_text) {
  char byte = 0;
  EXPECT_EQ(k2k_files_pread(files_, -1, &byte, 1, 5), -EBADF);
  EXPECT_STREQ(k2k_last_error(),
               "reading 1 bytes at offset 5 of descriptor -1: Bad file descriptor");
  EXPECT_EQ(k2k_files_pread(files_, descriptor_, &byte, 1, -1), -EINVAL);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(k2k_files_pread(files_, ends[0], &byte, 1, 0), -ESPIPE);
  EXPECT_EQ(k2k_files_pread(files_, descriptor_, memory_.data(), 0, 0), 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(CAbiFiles, a_child_of_fork_is_refused_and_may_create_its_own) {
  expect_file(0, file_bytes);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    bool good = k2k_files_pread(files_, descriptor_, &byte, 1, 0) == -EPERM;
    good &=
        std::strcmp(k2k_last_error(),
                    "these files were created before fork(); call k2k_files_create() again") == 0;
    good &= k2k_files_closing(files_, descriptor_) == -EPERM;
    k2k_files* own = nullptr;
    good &= k2k_files_create(nullptr, &own) == 0;
    good &= k2k_files_pread(own, descriptor_, &byte, 1, 7) == 1;
    good &= static_cast<unsigned char>(byte) == byte_at(7);
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(CAbiFiles, without_the_router_reads_are_plain_preads) {
  k2k_options* options = nullptr;
  ASSERT_EQ(k2k_options_create(&options), 0);
  ASSERT_EQ(k2k_options_set(options, "files.router", "false"), 0) << k2k_last_error();
  k2k_files_destroy(files_);
  ASSERT_EQ(k2k_files_create(options, &files_), 0) << k2k_last_error();
  k2k_options_destroy(options);
  drop_cache();
  expect_file(0, file_bytes);
  char byte = 0;
  EXPECT_EQ(k2k_files_pread(files_, -1, &byte, 1, 0), -EBADF);
  EXPECT_EQ(k2k_files_closing(files_, descriptor_), 0);
  EXPECT_EQ(stats()["reads"], 0);
}

TEST_F(CAbiFiles, options_are_checked_and_null_is_an_error) {
  k2k_options* options = nullptr;
  ASSERT_EQ(k2k_options_create(&options), 0);
  k2k_files* files = nullptr;
  EXPECT_EQ(k2k_files_create(options, &files), 0) << k2k_last_error();
  k2k_files_destroy(files);
  EXPECT_EQ(k2k_options_set(options, "files.router", "maybe"), -EINVAL);
  EXPECT_EQ(k2k_files_create(nullptr, nullptr), -EINVAL);
  EXPECT_EQ(k2k_files_pread(nullptr, 0, nullptr, 0, 0), -EINVAL);
  EXPECT_STREQ(k2k_last_error(), "files is null; pass one");
  EXPECT_EQ(k2k_files_pread(files_, descriptor_, nullptr, 1, 0), -EINVAL);
  EXPECT_STREQ(k2k_last_error(), "memory is null; pass one");
  EXPECT_EQ(k2k_files_closing(nullptr, 0), -EINVAL);
  EXPECT_EQ(k2k_files_stats_json(nullptr, nullptr, 0, nullptr), -EINVAL);
  EXPECT_EQ(k2k_files_stats_json(files_, nullptr, 1, nullptr), -EINVAL);
  k2k_files_destroy(nullptr);
  k2k_options_destroy(options);
}

}  // namespace
