// Goal: living runtimes are listed with their records, dead runtimes are not, and files that others
// put into the folder are ignored without a wait.

#include "host/holders.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>

#include "host/place_fixture.hpp"
#include "host/record.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

class HoldersTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_limit(place(), 0.1).ok()); }

  [[nodiscard]] const Place& place() const { return temporary_.place(); }
  [[nodiscard]] std::string folder() const { return temporary_.holders(); }
  [[nodiscard]] std::vector<Holder> listed() const {
    const Result<Holders> holders = list_holders(place());
    EXPECT_TRUE(holders.ok()) << (holders ? "" : holders.error().message);
    return holders ? holders.value().list : std::vector<Holder>();
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    const std::filesystem::directory_iterator all(folder());
    return std::distance(begin(all), end(all));
  }
  Holding hold(const Record& record = {}) const {
    Result<Holding> holding = Holding::create(place(), record);
    EXPECT_TRUE(holding.ok()) << (holding ? "" : holding.error().message);
    return std::move(holding).value();
  }

  TemporaryPlace temporary_;
};

TEST_F(HoldersTest, are_listed_with_their_latest_record) {
  EXPECT_TRUE(listed().empty());
  Holding holding = hold({.beat = 1, .demand = 0.5});
  ASSERT_TRUE(
      holding.publish({.beat = 2, .period = 100ms, .cap = 0.3, .demand = 0.2, .use = 0.1}).ok());
  const std::vector<Holder> all = listed();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].user, ::geteuid());
  EXPECT_EQ(all[0].process, ::getpid());
  EXPECT_EQ(all[0].start, start_of(::getpid()));
  EXPECT_GT(all[0].start, 0u);
  EXPECT_EQ(all[0].file, holding.file());
  EXPECT_EQ(all[0].record.beat, 2u);
  EXPECT_EQ(all[0].record.period, 100ms);
  EXPECT_EQ(all[0].record.cap, 0.3);
  EXPECT_EQ(all[0].record.demand, 0.2);
  EXPECT_EQ(all[0].record.use, 0.1);
}

TEST_F(HoldersTest, leave_nothing_behind_when_they_end) {
  {
    const Holding one = hold();
    Holding other = hold();
    const Holding moved = std::move(other);
    EXPECT_EQ(listed().size(), 2u);
  }
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(files(), 0);
}

TEST_F(HoldersTest, that_are_killed_vanish_with_their_file) {
  Process process([this] {
    static const Holding holding = hold();
    return holding.file() != 0;
  });
  ASSERT_TRUE(process.worked());
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].process, process.number());
  process.kill();
  EXPECT_EQ(files(), 1);  // It could not tidy up.
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(files(), 0);  // The process that looked removed it.
}

TEST_F(HoldersTest, do_not_end_with_a_child_of_fork) {
  const Holding holding = hold();
  const pid_t child = ::fork();
  if (child == 0) {
    {
      Holding inherited = std::move(const_cast<Holding&>(holding));
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(listed().size(), 1u);
}

TEST_F(HoldersTest, are_no_links_fifos_folders_or_other_files) {
  const Holding honest = hold();
  const std::string name = folder() + "/1.2.";
  ASSERT_EQ(::symlink("/dev/zero", (name + "link").c_str()), 0);
  ASSERT_EQ(::symlink(".", (name + "self").c_str()), 0);
  ASSERT_EQ(::mkfifo((name + "fifo").c_str(), 0666), 0);
  ASSERT_EQ(::mkdir((name + "folder").c_str(), 0777), 0);
  for (const char* other : {"/x", "/1", "/1.", "/1.2", "/-1.2.x", "/99999999999999999999.2.x"}) {
    std::ofstream(folder() + other) << "k2k";
  }
  const std::vector<Holder> all = listed();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].file, honest.file());
}

// A file that is locked as a holder's, with any content.
class Forged {
 public:
  Forged(const std::string& path, std::span<const std::byte> content)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    struct flock all{};
    all.l_type = F_WRLCK;
    EXPECT_EQ(::fcntl(file_.number(), F_OFD_SETLK, &all), 0);
    EXPECT_EQ(::write(file_.number(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
  }

 private:
  Descriptor file_;
};

TEST_F(HoldersTest, that_are_short_torn_or_of_another_version_are_ignored) {
  const auto whole = encode({.cap = 1, .demand = 1});
  auto torn = whole;
  torn[20] ^= std::byte{1};
  auto other = whole;
  other[4] = std::byte{2};
  const Forged empty(folder() + "/1.1.a", {});
  const Forged cut(folder() + "/1.1.b", std::span(whole).first(record_bytes - 1));
  const Forged half(folder() + "/1.1.c", torn);
  const Forged version(folder() + "/1.1.d", other);
  EXPECT_TRUE(listed().empty());
  const Forged good(folder() + "/1.1.e", whole);
  EXPECT_EQ(listed().size(), 1u);
}

TEST_F(HoldersTest, with_false_records_are_clamped) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Forged huge(folder() + "/1.1.a",
                    encode({.period = 1000h, .cap = 1e300, .demand = infinity, .use = 7}));
  const Forged odd(folder() + "/1.1.b",
                   encode({.period = -1h, .cap = std::nan(""), .demand = -infinity, .use = -7}));
  std::vector<Holder> all = listed();
  ASSERT_EQ(all.size(), 2u);
  if (all[0].record.cap < all[1].record.cap) std::swap(all[0], all[1]);
  EXPECT_EQ(all[0].record.period, period_max);
  EXPECT_EQ(all[0].record.cap, 1);
  EXPECT_EQ(all[0].record.demand, 1);
  EXPECT_EQ(all[0].record.use, 1);
  EXPECT_EQ(all[1].record.period, 0ns);
  EXPECT_EQ(all[1].record.cap, 0);
  EXPECT_EQ(all[1].record.demand, 0);
  EXPECT_EQ(all[1].record.use, 0);
}

TEST_F(HoldersTest, with_two_names_are_one) {
  const Holding holding = hold();
  const std::filesystem::directory_entry file = *std::filesystem::directory_iterator(folder());
  ASSERT_EQ(::link(file.path().c_str(), (folder() + "/1.2.again").c_str()), 0);
  EXPECT_EQ(listed().size(), 1u);
}

TEST_F(HoldersTest, of_one_user_are_bounded) {
  std::vector<std::unique_ptr<Forged>> many;
  for (std::size_t number = 0; number <= holders_of_user_max; ++number) {
    many.push_back(
        std::make_unique<Forged>(folder() + "/1.1." + std::to_string(number), encode({.cap = 1})));
  }
  const Result<Holders> holders = list_holders(place());
  ASSERT_TRUE(holders.ok());
  EXPECT_EQ(holders.value().list.size(), holders_of_user_max);
  EXPECT_TRUE(holders.value().crowded);
}

TEST_F(HoldersTest, of_one_user_take_the_place_of_holders_that_end) {
  std::vector<std::unique_ptr<Forged>> many;
  for (std::size_t number = 0; number <= holders_of_user_max; ++number) {
    many.push_back(
        std::make_unique<Forged>(folder() + "/1.1." + std::to_string(number), encode({.cap = 1})));
  }
  KnownFiles known;
  for (int look = 0; look < 3; ++look) {
    const Result<Holders> holders = list_holders(place(), &known);
    ASSERT_TRUE(holders.ok());
    EXPECT_EQ(holders.value().list.size(), holders_of_user_max);
    EXPECT_TRUE(holders.value().crowded);
  }
  many.pop_back();
  const Result<Holders> holders = list_holders(place(), &known);
  ASSERT_TRUE(holders.ok());
  EXPECT_EQ(holders.value().list.size(), holders_of_user_max);
  EXPECT_FALSE(holders.value().crowded);
}

// The work of a look is bounded; one or two looks later a living holder is found.
TEST_F(HoldersTest, are_found_among_many_other_files) {
  KnownFiles known;
  const auto look = [&] {
    Result<Holders> holders = list_holders(place(), &known);
    EXPECT_TRUE(holders.ok());
    return std::move(holders).value();
  };
  const Holding first = hold();
  EXPECT_EQ(look().list.size(), 1u);
  for (std::size_t number = 0; number < strangers_max + 100; ++number) {
    ASSERT_EQ(::mkfifo((folder() + "/1.2." + std::to_string(number)).c_str(), 0666), 0);
  }
  const Holding second = hold();
  const Holders flooded = look();
  EXPECT_TRUE(flooded.crowded);
  EXPECT_GE(flooded.list.size(), 1u) << "a known holder stays known";
  const Holders later = look();
  EXPECT_FALSE(later.crowded);
  EXPECT_EQ(later.list.size(), 2u);
  EXPECT_EQ(later.living, 2u) << "no other file is opened again";
  const Holding third = hold();
  EXPECT_EQ(look().list.size(), 3u);
}

TEST_F(HoldersTest, are_not_forgotten_for_want_of_descriptors) {
  KnownFiles known;
  const Holding holding = hold();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlim_t last = 0;
  {
    // For the folders and the listing, not for the file.
    const Descriptor three[] = {Descriptor(::dup(STDERR_FILENO)), Descriptor(::dup(STDERR_FILENO)),
                                Descriptor(::dup(STDERR_FILENO))};
    last = static_cast<rlim_t>(three[2].number());
  }
  const rlimit few{last + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Result<Holders> without = list_holders(place(), &known);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_TRUE(without.value().list.empty());
  EXPECT_TRUE(without.value().crowded);
  const Result<Holders> again = list_holders(place(), &known);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().list.size(), 1u);
}

TEST_F(HoldersTest, with_many_drafts_are_found) {
  KnownFiles known;
  for (int number = 0; number < 2'000; ++number) {
    ASSERT_EQ(::mkfifo((folder() + "/.new.1.2." + std::to_string(number)).c_str(), 0666), 0);
  }
  const Holding holding = hold();
  const Result<Holders> holders = list_holders(place(), &known);
  ASSERT_TRUE(holders.ok());
  EXPECT_EQ(holders.value().list.size(), 1u);
}

TEST_F(HoldersTest, are_not_held_alive_by_locks_of_others) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user: run as root";
  Process dies([this] {
    static const Holding holding = hold();
    return true;
  });
  ASSERT_TRUE(dies.worked());
  const std::string name = std::filesystem::directory_iterator(folder())->path();
  const Process locks([&name] {
    static const Descriptor file(::open(name.c_str(), O_RDONLY));
    struct flock all{};
    all.l_type = F_RDLCK;  // The most that read access permits.
    return become(65'534) && ::fcntl(file.number(), F_OFD_SETLK, &all) == -1 && errno == EAGAIN;
  });
  EXPECT_TRUE(locks.worked());
  dies.kill();
  EXPECT_TRUE(listed().empty());
}

TEST_F(HoldersTest, of_another_user_are_his_whatever_their_record_claims) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user: run as root";
  const Process other([this] {
    if (!become(65'534)) return false;
    static const Holding holding = hold({.cap = 1, .demand = 1});
    const std::string file = std::filesystem::directory_iterator(folder())->path();
    return ::chown(file.c_str(), 0, 0) != 0;  // It does not become root's either.
  });
  EXPECT_TRUE(other.worked());
  const std::vector<Holder> all = listed();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].user, 65'534u);
}

TEST_F(HoldersTest, need_a_trusted_folder) {
  const auto refusal = [this] { return Holding::create(place(), {}).error().message; };
  ASSERT_EQ(::chmod(folder().c_str(), 0777), 0);
  EXPECT_EQ(refusal(), "host limit: " + folder() +
                           " has mode 0777, so others could replace what lies in it; sudo chmod "
                           "1777 " +
                           folder());
  ASSERT_EQ(::rmdir(folder().c_str()), 0);
  EXPECT_EQ(refusal(), "host limit: " + folder() +
                           ": No such file or directory; sudo k2k host limit PCT makes it, once "
                           "nothing else is there");
  ASSERT_EQ(::symlink("/tmp", folder().c_str()), 0);
  EXPECT_FALSE(Holding::create(place(), {}).ok());
  EXPECT_FALSE(list_holders(place()).ok());
}

TEST_F(HoldersTest, that_may_not_write_get_the_reason) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user: run as root";
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  const Process other([this] {
    if (!become(65'534)) return false;
    const Result<Holding> holding = Holding::create(place(), {});
    return !holding && holding.error().code == EACCES &&
           holding.error().message == "host limit: cannot hold a part in " + folder() +
                                          ": a new file: Permission denied; see k2k doctor";
  });
  EXPECT_TRUE(other.worked());
}

TEST_F(HoldersTest, share_the_users_limit) {
  const Forged one(folder() + "/1.1.a", encode({.cap = 1, .demand = 1}));
  const Forged other(folder() + "/1.1.b", encode({.cap = 1, .demand = 0.02}));
  const std::vector<Holder> all = listed();
  ASSERT_EQ(all.size(), 2u);
  const std::vector<double> parts = parts_of(0.1, all);
  for (std::size_t place = 0; place < all.size(); ++place) {
    EXPECT_NEAR(parts[place], all[place].record.demand == 1 ? 0.08 : 0.02, 1e-12);
  }
}

}  // namespace
}  // namespace k2k::host
