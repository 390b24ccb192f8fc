// Goal: one entry an inode, from its first use to its last descriptor.

#include "router/file/open_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "router/file/file_fixture.hpp"

namespace k2k::router {
namespace {

TEST(OpenFiles, keep_one_entry_an_inode_and_end_it_with_its_last_descriptor) {
  OpenFiles files([](int) { return slow_device(); });
  DataFile one(8192);
  DataFile other(8192);
  const int again = ::dup(one.descriptor());
  const auto entry = files.find(one.descriptor());
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(files.find(again), entry);
  EXPECT_NE(files.find(other.descriptor()), entry);
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(files.sweep(), 0u);
  one.close();
  EXPECT_EQ(files.sweep(), 0u) << "a copy of the descriptor is open";
  ::close(again);
  EXPECT_EQ(files.sweep(), 1u) << "its twin alone is no user";
  files.closing(other.descriptor());
  files.closing(other.descriptor());
  files.closing(-1);
  EXPECT_EQ(files.size(), 0u);
}

TEST(OpenFiles, have_no_entry_for_unreadable_descriptors_and_other_than_files) {
  OpenFiles files([](int) { return slow_device(); });
  DataFile file(8192);
  EXPECT_EQ(files.find(-1), nullptr);
  const int write_only = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(files.find(write_only), nullptr);
  ::close(write_only);
  const int folder = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(files.find(folder), nullptr);
  ::close(folder);
  EXPECT_EQ(files.size(), 0u);
}

}  // namespace
}  // namespace k2k::router
