// Goal: the pages of a process are told by kind, those of a file in the page cache apart, and its
// page faults are counted; a long run keeps a bounded number of samples.

#include "apps/common/resident.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace k2k::apps {
namespace {

constexpr std::uint64_t megabyte = 1 << 20;

TEST(Resident, reads_a_line_of_kilobytes) {
  const std::string text = "VmRSS:\t 10 kB\nRssAnon:\t   12 kB\nXRssFile: 3 kB\nRssFile:\t7 kB\n";
  EXPECT_EQ(kilobyte_line(text, "RssAnon"), 12u * 1024);
  EXPECT_EQ(kilobyte_line(text, "RssFile"), 7u * 1024) << "and not the line that ends so";
  EXPECT_EQ(kilobyte_line(text, "RssShmem"), 0u);
  EXPECT_EQ(kilobyte_line("RssFile:", "RssFile"), 0u);
  EXPECT_EQ(kilobyte_line("RssFile", "RssFile"), 0u);
}

TEST(Resident, tells_anonymous_pages_and_the_cached_pages_of_a_file_apart) {
  std::string path = testing::TempDir() + "k2k_resident_XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  ::unlink(path.c_str());
  const std::string bytes(4 * megabyte, 'x');
  ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  Resident resident(false, file, bytes.size());
  resident.mark();
  constexpr std::size_t touched = 32 * megabyte;
  void* const memory =
      ::mmap(nullptr, touched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t at = 0; at < touched; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  resident.mark();
  ::munmap(memory, touched);
  const std::vector<ResidentSample> samples = resident.end();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_GT(samples[0].own(), 0u);
  // Linux counts in batches, one a core.
  EXPECT_GT(samples[1].anonymous, samples[0].anonymous + 28 * megabyte);
  EXPECT_LT(samples[1].file, samples[0].file + 4 * megabyte);
  EXPECT_EQ(samples[0].cached, bytes.size()) << "written, so cached, and mapped by nobody";
  EXPECT_EQ(cached_bytes(file, 0), 0u);
  EXPECT_EQ(cached_bytes(-1, 4096), 0u);
  ::close(file);
}

TEST(Resident, counts_faults_and_bytes_of_touched_pages) {
  constexpr std::size_t touched = 32 * megabyte;
  void* const memory =
      ::mmap(nullptr, touched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, touched, MADV_NOHUGEPAGE);
  const LinuxFaults faults = linux_faults_now();
  const ProcessMemory before = process_memory_now();
  for (std::size_t at = 0; at < touched; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  const ProcessMemory after = process_memory_now();
  EXPECT_GE(linux_faults_now().minor, faults.minor + touched / 4096);
  EXPECT_GE(after.faults, before.faults + touched / 4096);
  EXPECT_GT(after.bytes, before.bytes + 28 * megabyte) << "Linux counts in batches, one a core";
  EXPECT_EQ(huge_bytes_at(memory), 0u);
  EXPECT_EQ(huge_bytes_at(nullptr), 0u) << "no mapping is there";
  ::munmap(memory, touched);
}

TEST(Resident, samples_by_a_thread_until_the_end) {
  Resident resident(true, -1, 0);
  ::usleep(40'000);
  const std::vector<ResidentSample> samples = resident.end();
  ASSERT_GE(samples.size(), 2u);
  EXPECT_LT(samples.front().seconds, samples.back().seconds);
}

TEST(Resident, halves_its_samples_when_they_are_too_many) {
  Resident resident(false, -1, 0);
  for (std::size_t mark = 0; mark < Resident::samples_max + 1; ++mark) resident.mark();
  const std::vector<ResidentSample> samples = resident.end();
  EXPECT_EQ(samples.size(), Resident::samples_max / 2 + 1);
  for (std::size_t place = 1; place < samples.size(); ++place) {
    EXPECT_LE(samples[place - 1].seconds, samples[place].seconds);
  }
}

}  // namespace
}  // namespace k2k::apps
