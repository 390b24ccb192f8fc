// Goal: sockets are made only where no other user could have put files, and each refusal contains
// the remedy.

#include "control/folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "control/folder_fixture.hpp"

namespace k2k::control {
namespace {

using ControlFolder = InOwnFolder;

TEST_F(ControlFolder, is_made_for_its_owner_alone) {
  const std::string path = folder_ + "/new";
  ::setenv("K2K_CONTROL_DIR", path.c_str(), 1);
  const Result<Folder> folder = own_folder();
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777u, 0700u);
  EXPECT_EQ(folder.value().path, path);
}

TEST_F(ControlFolder, that_others_may_use_is_refused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0750), 0);
  const Result<Folder> folder = own_folder();
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, EPERM);
  EXPECT_EQ(
      folder.error().message,
      "control: " + folder_ + " has mode 0750, so it is open to others; chmod 0700 " + folder_);
  EXPECT_TRUE(folders_of(::geteuid()).empty());
}

TEST_F(ControlFolder, of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  const Result<Folder> folder = own_folder();
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, EPERM);
  EXPECT_EQ(folder.error().message.find("control: " + folder_ +
                                        " belongs to user 65534, not to 0, so nothing in it"),
            0u)
      << folder.error().message;
}

TEST_F(ControlFolder, that_is_a_link_is_refused) {
  const std::string link = folder_ + "/link";
  ASSERT_EQ(::symlink(folder_.c_str(), link.c_str()), 0);
  ::setenv("K2K_CONTROL_DIR", link.c_str(), 1);
  const Result<Folder> folder = own_folder();
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ENOTDIR);
  EXPECT_EQ(folder.error().message,
            "control: " + link + ": Not a directory; remove what is there, a folder is wanted");
}

TEST_F(ControlFolder, that_cannot_be_made_is_an_error) {
  ::setenv("K2K_CONTROL_DIR", (folder_ + "/no/such").c_str(), 1);
  const Result<Folder> folder = own_folder();
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ENOENT);
  EXPECT_EQ(folder.error().message.find("control: cannot make " + folder_ + "/no/such: "), 0u);
}

TEST_F(ControlFolder, follows_the_runtime_folder_only_if_it_is_the_users) {
  ::unsetenv("K2K_CONTROL_DIR");
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  const Result<Folder> own = own_folder();
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(own.value().path, folder_ + "/k2k");
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  const Result<Folder> other = own_folder();
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other.value().path.front(), '/');
  if (before == nullptr) {
    ::unsetenv("XDG_RUNTIME_DIR");
  } else {
    ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
  }
}

TEST(ControlUsers, include_the_caller) {
  const std::vector<uid_t> users = visible_users();
  EXPECT_NE(std::find(users.begin(), users.end(), ::geteuid()), users.end());
}

}  // namespace
}  // namespace k2k::control
