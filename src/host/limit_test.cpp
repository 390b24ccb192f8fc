// Goal: the limit is the complete line that its owner wrote; any other file is refused with the
// remedy.

#include "host/limit.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <cmath>
#include <fstream>

#include "host/holders.hpp"
#include "host/place_fixture.hpp"

namespace k2k::host {
namespace {

std::string refusal(const Result<std::optional<double>>& limit) {
  return limit ? "none" : limit.error().message;
}

void write_file(const std::string& path, const std::string& text, mode_t mode = 0644) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
}

TEST(Limit, is_none_where_there_is_no_place) {
  const TemporaryPlace place;
  const auto limit = read_limit(place.place());
  ASSERT_TRUE(limit.ok()) << limit.error().message;
  EXPECT_FALSE(limit.value().has_value());
  EXPECT_TRUE(remove_limit(place.place()).ok());
}

// Each of the files and folders that are opened for a look meets the end of the table once.
TEST(Limit, without_a_descriptor_left_names_the_limit_on_open_files) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UndefinedBehaviorSanitizer needs a pipe to look at objects";
#endif
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int last = ::dup(STDERR_FILENO);
  ASSERT_GE(last, 0);
  ::close(last);
  for (int spare = 0; spare < 5; ++spare) {
    const rlimit few{static_cast<rlim_t>(last + spare), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto limit = read_limit(place.place());
    const auto holding = Holding::create(place.place(), {});
    const auto holders = list_holders(place.place());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    for (const Error& error : {limit ? Error{} : limit.error(), holding ? Error{} : holding.error(),
                               holders ? Error{} : holders.error()}) {
      if (error.code == 0) continue;
      EXPECT_EQ(error.code, EMFILE) << error.message;
      EXPECT_NE(error.message.find("Too many open files; raise the limit on open files of this "
                                   "process: ulimit -n"),
                std::string::npos)
          << error.message;
    }
    EXPECT_EQ(limit.ok(), spare >= 2) << spare;
  }
}

TEST(Limit, is_the_written_value_until_it_is_removed) {
  const TemporaryPlace place;
  for (const double fraction : {0.05, 0.0001, 1.0, 1.0 / 3}) {
    const Status status = write_limit(place.place(), fraction);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(read_limit(place.place()).value(), fraction);
  }
  ASSERT_TRUE(remove_limit(place.place()).ok());
  EXPECT_FALSE(read_limit(place.place()).value().has_value());
}

TEST(Limit, makes_its_place_with_the_right_modes_whatever_the_umask) {
  const TemporaryPlace place;
  const mode_t before = ::umask(0077);
  const Status status = write_limit(place.place(), 0.05);
  ::umask(before);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const auto mode_of = [](const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777u : 0;
  };
  EXPECT_EQ(mode_of(place.path()), 0755u);
  EXPECT_EQ(mode_of(place.holders()), 01777u);
  EXPECT_EQ(mode_of(place.path() + "/limit"), 0644u);
}

TEST(Limit, outside_its_range_changes_nothing) {
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  for (const double fraction : {0.0, -0.1, 1.001, 0.00009, std::nan("")}) {
    EXPECT_EQ(write_limit(place.place(), fraction).error().code, EINVAL) << fraction;
  }
  EXPECT_EQ(write_limit(place.place(), 1.5).error().message,
            "a host limit of 150 % of the CPU time of all cores; permitted are 0.01 to 100 %, or "
            "off");
  EXPECT_EQ(read_limit(place.place()).value(), 0.05);
}

TEST(Limit, of_another_kind_is_refused_with_the_fix) {
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  const std::string path = place.path() + "/limit";
  for (const char* text : {"", "\n", "0.05", "k2k-host-limit 2 0.05\n", "k2k-host-limit 1 nan\n",
                           "k2k-host-limit 1 0\n", "k2k-host-limit 1 7\n",
                           "k2k-host-limit 1 0.05 and more\n", "k2k-host-limit 1 "}) {
    write_file(path, text);
    EXPECT_EQ(refusal(read_limit(place.place())),
              "host limit: " + path +
                  " does not say 'k2k-host-limit 1 FRACTION' with a fraction of 0.0001 to 1; sudo "
                  "k2k host limit PCT writes it anew")
        << text;
  }
  write_file(path, "k2k-host-limit 1 0.25");  // By hand, without the end of the line.
  EXPECT_EQ(read_limit(place.place()).value(), 0.25);
}

TEST(Limit, with_write_permission_for_others_is_refused) {
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  ::chmod((place.path() + "/limit").c_str(), 0666);
  EXPECT_NE(refusal(read_limit(place.place()))
                .find("mode 0666) may be others' word; sudo k2k host "
                      "limit PCT writes it anew"),
            std::string::npos);
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());  // As the message advises.
  EXPECT_EQ(read_limit(place.place()).value(), 0.05);
  ::chmod(place.path().c_str(), 0777);
  EXPECT_EQ(refusal(read_limit(place.place())),
            "host limit: " + place.path() +
                " has mode 0777, so others could replace what lies in it; sudo chmod 0755 " +
                place.path());
  EXPECT_EQ(write_limit(place.place(), 0.07).error().code, EPERM);
}

TEST(Limit, is_no_link_no_fifo_and_no_folder) {
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  const std::string path = place.path() + "/limit";
  write_file(place.folder() + "/elsewhere", "k2k-host-limit 1 1\n");
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink((place.folder() + "/elsewhere").c_str(), path.c_str()), 0);
  EXPECT_EQ(read_limit(place.place()).error().code, ELOOP);
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0644), 0);
  EXPECT_EQ(read_limit(place.place()).error().code, EINVAL);
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  EXPECT_EQ(read_limit(place.place()).value(), 0.05);

  const std::string link = place.folder() + "/link";
  ASSERT_EQ(::symlink(place.path().c_str(), link.c_str()), 0);
  EXPECT_EQ(read_limit({link, true}).error().code, ENOTDIR);
}

TEST(Limit, of_a_user_other_than_root_is_refused) {
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(place.path().c_str(), 65'534, 65'534), 0);
  }
  const uid_t owner = ::geteuid() == 0 ? 65'534 : ::geteuid();
  const Place machine = {place.path(), false};
  EXPECT_EQ(refusal(read_limit(machine)),
            "host limit: " + place.path() + " belongs to user " + std::to_string(owner) +
                ", not to root, so its content is not to be believed; remove it, then: sudo k2k "
                "host limit PCT");
}

TEST(Limit, of_root_is_not_changed_by_others) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a limit of root's";
  const TemporaryPlace place;
  ASSERT_TRUE(write_limit(place.place(), 0.05).ok());
  const std::string path = place.path();
  const Process other([&path] {
    if (!become(65'534)) return false;
    const Place theirs = {path, true};
    const Status written = write_limit(theirs, 1);
    const Status removed = remove_limit(theirs);
    const std::string says =
        "host limit: " + path +
        "/limit: Permission denied; it is the administrator's to set: sudo k2k "
        "host limit";
    return !written && written.error().message == says && !removed &&
           removed.error().message == says && read_limit(theirs).value() == 0.05;
  });
  EXPECT_TRUE(other.worked());
  EXPECT_EQ(read_limit(place.place()).value(), 0.05);
}

TEST(Place, of_the_variable_counts_only_where_the_machine_has_no_limit) {
  const TemporaryPlace machine;
  const TemporaryPlace own;
  EXPECT_EQ(place_of("", machine.place()).path, machine.path());
  EXPECT_EQ(place_of(own.path(), machine.place()).path, own.path());
  ASSERT_TRUE(write_limit(machine.place(), 0.05).ok());
  EXPECT_EQ(place_of(own.path(), machine.place()).path, machine.path());
}

}  // namespace
}  // namespace k2k::host
