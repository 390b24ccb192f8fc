#pragma once
// A file that is written in exclusive mode, and its expected content.
//
// Threading: the test's.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "io/file/direct_file.hpp"
#include "io/file/residency.hpp"
#include "router/file/file_fixture.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

inline constexpr std::uint32_t least = 4 * page;  // The shortest direct body.

inline std::unique_ptr<FileReader> writer_of(bool exclusive = true,
                                             std::uint32_t partition_pages = 0) {
  auto made = FileReader::create({.grain_pages = 1,
                                  .partition_pages = partition_pages,
                                  .exclusive = exclusive,
                                  .direct_write_bytes = least});
  EXPECT_TRUE(made.ok()) << made.error().message;
  return std::move(made).value();
}

// Memory with the alignment of an offset of the file, filled by a seed.
struct Source {
  Source(std::size_t length, std::size_t offset, std::uint64_t seed)
      : room(memory_of(length + 2 * page)), bytes(length), begin(room.get() + offset % page) {
    std::mt19937_64 random(seed);
    for (std::size_t at = 0; at < bytes; ++at) begin[at] = std::byte(random() >> 32);
  }
  Memory room;
  std::size_t bytes;
  std::byte* begin;
};

// A file and its expected content.
class Modelled {
 public:
  explicit Modelled(std::size_t bytes = 0) : file_(bytes) { file_.evict(); }

  DataFile& file() { return file_; }
  std::vector<std::byte>& bytes() { return file_.bytes(); }
  [[nodiscard]] int descriptor() const { return file_.descriptor(); }

  // Writes all bytes, also to the model.
  void write(FileReader& writer, std::size_t bytes, std::size_t offset, std::uint64_t seed,
             std::size_t skew = 0) {
    const Source source(bytes, offset + skew, seed);
    ASSERT_EQ(writer.pwrite(descriptor(), source.begin, bytes, static_cast<std::int64_t>(offset)),
              static_cast<ssize_t>(bytes))
        << bytes << " at " << offset;
    if (this->bytes().size() < offset + bytes) this->bytes().resize(offset + bytes);
    std::copy_n(source.begin, bytes, this->bytes().begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void cut(std::size_t size) {
    ASSERT_EQ(::ftruncate(descriptor(), static_cast<off_t>(size)), 0);
    bytes().resize(size);
  }
  // Compares the content by every way to read it.
  void expect_content() {
    struct stat facts{};
    ASSERT_EQ(::fstat(descriptor(), &facts), 0);
    ASSERT_EQ(static_cast<std::size_t>(facts.st_size), bytes().size());
    if (bytes().empty()) return;
    expect_mapped();
    expect_read(descriptor(), "by the page cache");
    auto direct = io::DirectFile::open(descriptor(), io::DirectFile::Access::read);
    if (direct) expect_read(direct->descriptor(), "directly");
    expect_mapped();
  }

 private:
  void expect_read(int from, const char* how) {
    const std::size_t room = (bytes().size() + page - 1) / page * page;
    const Memory seen = memory_of(room);
    ASSERT_EQ(::pread(from, seen.get(), room, 0), static_cast<ssize_t>(bytes().size())) << how;
    ASSERT_TRUE(std::equal(bytes().begin(), bytes().end(), seen.get())) << how;
  }
  void expect_mapped() {
    void* const map = ::mmap(nullptr, bytes().size(), PROT_READ, MAP_SHARED, descriptor(), 0);
    ASSERT_NE(map, MAP_FAILED);
    EXPECT_TRUE(std::equal(bytes().begin(), bytes().end(), static_cast<std::byte*>(map)));
    ::munmap(map, bytes().size());
  }

  DataFile file_;
};

// The number of cached pages within.
inline std::size_t cached_pages(const DataFile& file, std::size_t begin, std::size_t end) {
  auto probe = io::ResidencyProbe::open(file.descriptor());
  EXPECT_TRUE(probe.ok());
  std::vector<std::uint8_t> cached(end / page - (begin + page - 1) / page);
  return probe->probe(file.descriptor(), (begin + page - 1) / page, cached, 1);
}

class ExclusiveWrites : public testing::Test {
 protected:
  void SetUp() override {
    const DataFile file(page);
    if (!has_direct(file)) GTEST_SKIP() << "no direct transfers in this folder";
  }
};

}  // namespace k2k::router
