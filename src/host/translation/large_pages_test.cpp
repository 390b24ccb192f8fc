// Goal: what Linux says of transparent and of reserved huge pages is read as its documentation says
// (Documentation/admin-guide/mm/transhuge.rst, hugetlbpage.rst), and what it does not say is
// unknown. Method: trees of hosts, as fixtures.

#include "host/translation/large_pages.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.hpp"

namespace k2k::host {
namespace {

class LargePagesTest : public testing::Test {
 protected:
  void plant(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = folder_.path() + "/sys/kernel/mm/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  [[nodiscard]] LargePages seen() const { return large_pages(folder_.path()); }

 private:
  TemporaryFolder folder_ = TemporaryFolder::create("k2k-pages").value();
};

TEST_F(LargePagesTest, of_a_machine_that_shows_nothing_are_unknown) {
  const LargePages pages = seen();
  EXPECT_EQ(pages.enabled + pages.defrag + pages.shmem, "");
  EXPECT_FALSE(pages.bytes);
  EXPECT_TRUE(pages.reserved.empty());
}

TEST_F(LargePagesTest, have_the_words_in_brackets_and_the_pools_by_size) {
  plant("transparent_hugepage/enabled", "always [madvise] never\n");
  plant("transparent_hugepage/defrag", "always defer [defer+madvise] madvise never\n");
  plant("transparent_hugepage/shmem_enabled", "always within_size advise [never] deny force\n");
  plant("transparent_hugepage/hpage_pmd_size", "2097152\n");
  plant("hugepages/hugepages-1048576kB/nr_hugepages", "4\n");
  plant("hugepages/hugepages-1048576kB/free_hugepages", "3\n");
  plant("hugepages/hugepages-2048kB/nr_hugepages", "512\n");
  plant("hugepages/hugepages-2048kB/free_hugepages", "0\n");
  const LargePages pages = seen();
  EXPECT_EQ(pages.enabled, "madvise");
  EXPECT_EQ(pages.defrag, "defer+madvise");
  EXPECT_EQ(pages.shmem, "never");
  EXPECT_EQ(pages.bytes, 2u << 20);
  ASSERT_EQ(pages.reserved.size(), 2u);
  EXPECT_EQ(pages.reserved[0].bytes, 2u << 20);
  EXPECT_EQ(pages.reserved[0].total, 512u);
  EXPECT_EQ(pages.reserved[0].free, 0u);
  EXPECT_EQ(pages.reserved[1].bytes, 1u << 30);
  EXPECT_EQ(pages.reserved[1].total, 4u);
  EXPECT_EQ(pages.reserved[1].free, 3u);
}

TEST_F(LargePagesTest, of_damaged_files_are_unknown_and_of_other_folders_no_pools) {
  plant("transparent_hugepage/enabled", "always madvise never\n");
  plant("transparent_hugepage/defrag", "] always [\n");
  plant("transparent_hugepage/shmem_enabled", "");
  plant("transparent_hugepage/hpage_pmd_size", "2 MiB\n");
  plant("hugepages/hugepages-2048kB/nr_hugepages", "many\n");
  plant("hugepages/hugepages-2048kB/free_hugepages", "-1\n");
  for (const char* const wrong :
       {"hugepages-kB", "hugepages-2048", "pages-2048kB", "hugepages-0kB", "hugepages-xkB",
        "hugepages-18446744073709551615kB", "hugepageskB"}) {
    plant(std::string("hugepages/") + wrong + "/nr_hugepages", "1\n");
  }
  const LargePages pages = seen();
  EXPECT_EQ(pages.enabled + pages.defrag + pages.shmem, "");
  EXPECT_FALSE(pages.bytes);
  ASSERT_EQ(pages.reserved.size(), 1u);
  EXPECT_FALSE(pages.reserved[0].total);
  EXPECT_FALSE(pages.reserved[0].free);
}

TEST_F(LargePagesTest, have_names_in_whole_units) {
  EXPECT_EQ(name_of_page(std::uint64_t{64} << 10), "64 KiB");
  EXPECT_EQ(name_of_page(std::uint64_t{2} << 20), "2 MiB");
  EXPECT_EQ(name_of_page(std::uint64_t{16} << 30), "16 GiB");
  EXPECT_EQ(name_of_page(1536), "1536 B");
  EXPECT_EQ(name_of_page(0), "0 B");
}

}  // namespace
}  // namespace k2k::host
