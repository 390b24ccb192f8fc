// Goal: bytes of a file map to the right pages. Method: the edges of a page.

#include "io/file/page_range.hpp"

#include <gtest/gtest.h>

namespace k2k::io {
namespace {

TEST(PagesOf, are_the_pages_that_contain_the_bytes) {
  EXPECT_EQ(pages_of(0, 0), (PageRange{0, 0}));
  EXPECT_EQ(pages_of(0, 1), (PageRange{0, 1}));
  EXPECT_EQ(pages_of(0, 4096), (PageRange{0, 1}));
  EXPECT_EQ(pages_of(4095, 2), (PageRange{0, 2}));
  EXPECT_EQ(pages_of(4096, 4097), (PageRange{1, 2}));
  EXPECT_EQ(pages_of(8191, 0), (PageRange{1, 0}));
}

}  // namespace
}  // namespace k2k::io
