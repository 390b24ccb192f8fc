// Goal: pages of a region that Linux fills can be discarded if Linux can fill them again.

#include "backend/device_regions.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/demand_pages.hpp"

namespace k2k::backend {
namespace {

constexpr std::size_t bytes_a_page = demand_page_bytes;

class MappedRegion : public testing::Test {
 protected:
  ~MappedRegion() override {
    if (region_.pages != nullptr) retire_region(std::move(region_));
  }
  char* map(const RegionPlan& plan) {
    Result<RegionHandle> made = map_region(plan);
    EXPECT_TRUE(made.ok()) << made.error().message;
    region_ = std::move(made).value();
    return reinterpret_cast<char*>(region_.data);
  }
  int discard(std::size_t offset, std::size_t bytes) const {
    return discard_pages(region_.pages, reinterpret_cast<std::uintptr_t>(region_.data) + offset,
                         bytes);
  }
  int discard_second() const { return discard(bytes_a_page, bytes_a_page); }

 private:
  RegionHandle region_;
};

TEST_F(MappedRegion, of_zeros_is_zero_again) {
  char* const bytes = map({.name = "zeros", .bytes = 2 * bytes_a_page});
  bytes[0] = bytes[bytes_a_page] = '!';
  EXPECT_EQ(discard_second(), 0);
  EXPECT_EQ(bytes[0], '!');
  EXPECT_EQ(bytes[bytes_a_page], 0);
}

TEST_F(MappedRegion, of_large_pages_begins_at_one_and_gives_them_back) {
  char* const bytes =
      map({.name = "zeros", .bytes = 2 * large_page_bytes, .page_bytes = large_page_bytes});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % large_page_bytes, 0u);
  bytes[0] = bytes[2 * large_page_bytes - 1] = '!';
  EXPECT_EQ(discard(large_page_bytes, large_page_bytes), 0);
  EXPECT_EQ(bytes[0], '!');
  EXPECT_EQ(bytes[2 * large_page_bytes - 1], 0);
}

TEST_F(MappedRegion, of_a_file_has_the_file_s_content_of_now) {
  const int file = ::memfd_create("pages", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  const std::string old(2 * bytes_a_page, 'a');
  const std::string renewed(2 * bytes_a_page, 'b');
  ASSERT_EQ(::pwrite(file, old.data(), old.size(), 0), static_cast<ssize_t>(old.size()));
  char* const bytes = map(
      {.name = "file", .bytes = 2 * bytes_a_page, .source = PageSource::file, .descriptor = file});
  bytes[0] = bytes[bytes_a_page] = '!';
  ASSERT_EQ(::pwrite(file, renewed.data(), renewed.size(), 0),
            static_cast<ssize_t>(renewed.size()));
  EXPECT_EQ(discard_second(), 0);
  EXPECT_EQ(bytes[0], '!');
  EXPECT_EQ(bytes[bytes_a_page], 'b');
  ::close(file);
}

TEST_F(MappedRegion, of_a_copy_keeps_its_pages) {
  const std::string source(2 * bytes_a_page, 'c');
  char* const bytes = map({.name = "copy",
                           .bytes = 2 * bytes_a_page,
                           .source = PageSource::copy,
                           .copy_from = reinterpret_cast<const std::byte*>(source.data())});
  EXPECT_EQ(discard_second(), ENOTSUP);
  EXPECT_EQ(bytes[bytes_a_page], 'c');
}

TEST(ManagedRegion, keeps_its_pages) {
  const std::shared_ptr<void> pages = std::make_shared<char>('m');  // As a driver's memory.
  EXPECT_EQ(discard_pages(pages, reinterpret_cast<std::uintptr_t>(pages.get()), bytes_a_page),
            ENOTSUP);
}

}  // namespace
}  // namespace k2k::backend
