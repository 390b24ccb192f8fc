// Goal: runtimes that refresh their parts periodically hold together no more than the limit, get
// the parts that others leave, and get back the part of a dead runtime. Method: time is an
// argument; other runtimes are Shares of this process, or forked and killed.

#include "host/share.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "host/place_fixture.hpp"

namespace k2k::host {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t cores = 2;
constexpr Nanoseconds tick = 100ms;

class ShareTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/run/k2k/limit", F_OK) == 0) {
      GTEST_SKIP() << "this machine has a limit (/run/k2k), which outranks the test's";
    }
    limit(0.1);
  }

  void limit(double fraction) { ASSERT_TRUE(write_limit(place_.place(), fraction).ok()); }
  std::unique_ptr<Share> share() { return std::make_unique<Share>(place_.path(), cores); }
  static void refresh(Share& share, Instant now, const Share::Own& own) {
    const Status status = share.refresh(now, own);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }

  TemporaryPlace place_;
};

// A runtime that takes as much of its demand as its part allows, and refreshes it at each tick.
class Simulated {
 public:
  Simulated(Share& share, double wanted, double cap = 1) : share_(&share), wanted_(wanted) {
    own_.cap = cap;
  }
  void want(double wanted) { wanted_ = wanted; }
  void refresh(Instant now) {
    if (share_->limit()) {
      const double taken = std::min(wanted_, share_->part());
      own_.used +=
          Nanoseconds(static_cast<std::int64_t>(taken * cores * static_cast<double>(tick.count())));
      if (wanted_ > taken) ++own_.waits;
    }
    const Status status = share_->refresh(now, own_);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }

 private:
  Share* share_;
  double wanted_;
  Share::Own own_;
};

TEST_F(ShareTest, is_nothing_while_there_is_no_limit) {
  ASSERT_TRUE(remove_limit(place_.place()).ok());
  const auto one = share();
  refresh(*one, Instant(0s), {});
  EXPECT_FALSE(one->limit().has_value());
  EXPECT_EQ(one->due(), Instant(1s));
  EXPECT_EQ(one->holders(), 0u);
}

TEST_F(ShareTest, of_a_lone_runtime_is_the_limit_or_its_cap) {
  const auto one = share();
  refresh(*one, Instant(0s), {});
  EXPECT_EQ(one->limit(), 0.1);
  EXPECT_EQ(one->part(), 0.1);
  EXPECT_EQ(one->holders(), 1u);
  EXPECT_GE(one->due(), Instant(100ms));
  EXPECT_LE(one->due(), Instant(10s));
  refresh(*one, Instant(1s), {.cap = 0.03});
  EXPECT_EQ(one->part(), 0.03);
}

TEST_F(ShareTest, follows_a_limit_that_changes_and_goes) {
  const auto one = share();
  refresh(*one, Instant(0s), {});
  limit(0.4);
  refresh(*one, Instant(1s), {});
  EXPECT_EQ(one->part(), 0.4);
  limit(0.02);
  refresh(*one, Instant(2s), {});
  EXPECT_EQ(one->part(), 0.02);
  ASSERT_TRUE(remove_limit(place_.place()).ok());
  refresh(*one, Instant(3s), {});
  EXPECT_FALSE(one->limit().has_value());
  EXPECT_TRUE(list_holders(place_.place()).value().list.empty());
}

TEST_F(ShareTest, of_two_greedy_runtimes_is_half_each_and_together_never_more_than_the_limit) {
  const auto one = share();
  const auto other = share();
  Simulated first(*one, 1);
  Simulated second(*other, 1);
  first.refresh(Instant(0s));
  EXPECT_EQ(one->part(), 0.1);
  for (Nanoseconds at = 50ms; at < 1s; at += tick) {
    second.refresh(Instant(at));
    EXPECT_LE(one->part() + other->part(), 0.1 + 1e-9) << at.count();
    first.refresh(Instant(at + tick / 2));
    EXPECT_LE(one->part() + other->part(), 0.1 + 1e-9) << at.count();
  }
  EXPECT_NEAR(one->part(), 0.05, 1e-9);
  EXPECT_NEAR(other->part(), 0.05, 1e-9);
}

TEST_F(ShareTest, that_is_not_used_goes_to_the_others_and_comes_back) {
  const auto one = share();
  const auto other = share();
  Simulated busy(*one, 1);
  Simulated light(*other, 0.01);
  Instant now(0s);
  const auto ticks = [&](int count) {
    for (int each = 0; each < count; ++each) {
      now += tick;
      busy.refresh(now);
      light.refresh(now);
      if (each > 0) {
        EXPECT_LE(one->part() + other->part(), 0.1 + 1e-9);
      }
    }
  };
  ticks(20);
  EXPECT_NEAR(other->part(), 0.0125, 1e-6);
  EXPECT_NEAR(one->part(), 0.0875, 1e-6);
  light.want(1);
  ticks(3);
  EXPECT_NEAR(other->part(), 0.05, 1e-9);
  light.want(0);
  ticks(2);
  EXPECT_NEAR(one->part(), 0.1, 1e-9);
}

TEST_F(ShareTest, of_a_runtime_that_stands_still_goes_to_the_others) {
  const auto one = share();
  const auto other = share();
  Simulated busy(*one, 1);
  Simulated stopped(*other, 1);
  stopped.refresh(Instant(0s));
  for (Nanoseconds at = 0s; at <= 1s; at += tick) busy.refresh(Instant(at));
  EXPECT_NEAR(one->part(), 0.05, 1e-9);  // It may be about to go on.
  for (Nanoseconds at = 1s; at <= 4s; at += tick) busy.refresh(Instant(at));
  EXPECT_NEAR(one->part(), 0.1, 1e-9);
  EXPECT_EQ(one->holders(), 1u);
  stopped.refresh(Instant(4s));
  stopped.refresh(Instant(4100ms));
  busy.refresh(Instant(4100ms));
  EXPECT_NEAR(one->part(), 0.05, 1e-9);
}

TEST_F(ShareTest, of_a_runtime_that_is_killed_comes_back_at_once) {
  Process process([this] {
    static const auto theirs = share();
    return theirs->refresh(Instant(0s), {}).ok() && theirs->refresh(Instant(1s), {.waits = 1}).ok();
  });
  ASSERT_TRUE(process.worked());
  const auto one = share();
  Simulated busy(*one, 1);
  busy.refresh(Instant(1s));
  busy.refresh(Instant(1s + tick));
  EXPECT_NEAR(one->part(), 0.05, 1e-9);
  EXPECT_EQ(one->holders(), 2u);
  process.kill();
  busy.refresh(Instant(1s + 2 * tick));
  EXPECT_NEAR(one->part(), 0.1, 1e-9);
  EXPECT_EQ(one->holders(), 1u);
}

TEST_F(ShareTest, of_a_user_does_not_depend_on_the_number_of_his_processes) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a second user: run as root";
  const Process other([this] {
    static std::vector<std::unique_ptr<Share>> theirs;
    if (!become(65'534)) return false;
    for (int number = 0; number < 5; ++number) {
      theirs.push_back(share());
      if (!theirs.back()->refresh(Instant(0s), {}).ok()) return false;
    }
    return true;
  });
  ASSERT_TRUE(other.worked());
  const auto one = share();
  Simulated busy(*one, 1);
  for (Nanoseconds at = 0s; at < 5 * tick; at += tick) busy.refresh(Instant(at));
  EXPECT_EQ(one->holders(), 6u);
  EXPECT_NEAR(one->part(), 0.05, 1e-9);
}

TEST_F(ShareTest, of_a_runtime_that_waits_is_not_given_away) {
  const auto one = share();
  const auto other = share();
  Simulated busy(*one, 1);
  Instant now(0s);
  for (int each = 0; each < 5; ++each) {
    now += tick;
    busy.refresh(now);
    refresh(*other, now, {.waits = 1, .waits_now = true});  // One long wait, nothing used.
    EXPECT_FALSE(other->idle());
  }
  EXPECT_NEAR(other->part(), 0.05, 1e-9);
  EXPECT_NEAR(one->part(), 0.05, 1e-9);
  refresh(*other, now + tick, {.waits = 1});
  EXPECT_TRUE(other->idle());
  EXPECT_EQ(other->due(), now + tick + 1s);
}

// Sixteen runtimes that refreshed ten times a second took more CPU time than a limit of 1 %
// permits.
TEST_F(ShareTest, of_many_runtimes_under_a_small_limit_is_refreshed_less_often) {
  constexpr std::size_t count = 16;
  limit(0.01);
  std::vector<std::unique_ptr<Share>> shares;
  std::vector<Simulated> runtimes;
  for (std::size_t each = 0; each < count; ++each) {
    shares.push_back(share());
    runtimes.emplace_back(*shares.back(), 1);
  }
  const Nanoseconds period = shared_period(count, 0.01, cores);
  EXPECT_GT(period, 1s);
  int refreshes = 0;
  for (Instant now(0s); now < Instant(20s); now += 10ms) {
    double parts = 0;
    for (std::size_t each = 0; each < count; ++each) {
      if (now >= shares[each]->due()) {
        runtimes[each].refresh(now);
        ++refreshes;
        EXPECT_LE(shares[each]->due(), now + period);
      }
      parts += shares[each]->part();
    }
    if (now > Instant(2 * period)) {
      EXPECT_NEAR(parts, 0.01, 1e-9);
    }
  }
  EXPECT_LE(refreshes, static_cast<int>(count) * static_cast<int>(20s / period + 2));
  shares.resize(1);  // The others' files go with them.
  const Instant later(20s + 2 * period);
  runtimes[0].refresh(later);
  EXPECT_NEAR(shares[0]->part(), 0.01, 1e-9);
  EXPECT_EQ(shares[0]->due(), later + shared_period(1, 0.01, cores));
}

TEST_F(ShareTest, follows_cores_that_are_plugged_in_and_out) {
  limit(0.001);
  auto one = share();
  for (const std::uint32_t online : {8u, 4u, 64u}) {
    const Instant now = one->due() + 1s;
    refresh(*one, now, {.waits_now = true, .cores = online});
    refresh(*one, now + 10s, {.waits_now = true});
    EXPECT_EQ(one->due(), now + 10s + shared_period(1, 0.001, online)) << "as before";
  }
}

TEST(SharedPeriod, keeps_all_refreshes_within_a_tenth_of_the_limit) {
  for (const std::uint32_t online : {1u, 2u, 64u}) {
    for (const double limit : {0.001, 0.01, 0.05, 1.0}) {
      for (const std::size_t holders : {0u, 1u, 4u, 16u, 64u, 4096u}) {
        const Nanoseconds period = shared_period(holders, limit, online);
        EXPECT_GE(period, Nanoseconds(100ms));
        EXPECT_LE(period, Nanoseconds(3s));
        if (period == Nanoseconds(3s)) continue;
        const auto count = static_cast<std::int64_t>(holders);
        const auto work = static_cast<double>((count * (180us + 2us * count)).count()) / 1e6;
        const double seconds = std::chrono::duration<double>(period).count();
        EXPECT_LE(work / seconds, 0.1 * limit * online * (1 + 1e-6)) << holders << " " << limit;
      }
    }
  }
  EXPECT_EQ(shared_period(1, 0.05, 2), Nanoseconds(100ms));
}

TEST_F(ShareTest, survives_the_loss_of_its_file) {
  const auto one = share();
  refresh(*one, Instant(0s), {});
  for (const auto& file : std::filesystem::directory_iterator(place_.holders())) {
    std::filesystem::remove(file);
  }
  refresh(*one, Instant(1s), {});
  EXPECT_EQ(list_holders(place_.place()).value().list.size(), 1u);
  std::filesystem::remove_all(place_.path());
  refresh(*one, Instant(2s), {});
  EXPECT_FALSE(one->limit().has_value());
  limit(0.2);
  refresh(*one, Instant(3s), {});
  EXPECT_EQ(one->part(), 0.2);
}

TEST_F(ShareTest, stays_when_the_limit_becomes_unreadable) {
  const auto one = share();
  refresh(*one, Instant(0s), {});
  ASSERT_EQ(::chmod(place_.path().c_str(), 0777), 0);
  EXPECT_EQ(one->refresh(Instant(1s), {}).error().code, EPERM);
  EXPECT_EQ(one->part(), 0.1);
  EXPECT_GT(one->due(), Instant(1s));
}

TEST_F(ShareTest, of_a_runtime_that_cannot_hold_a_part_is_at_most_the_limit) {
  ASSERT_EQ(::rmdir(place_.holders().c_str()), 0);
  const auto one = share();
  EXPECT_EQ(one->refresh(Instant(0s), {}).error().code, ENOENT);
  EXPECT_EQ(one->limit(), 0.1);
  EXPECT_EQ(one->part(), 0.1);
  limit(0.05);  // Makes the folder, too.
  refresh(*one, Instant(1s), {});
  EXPECT_EQ(one->part(), 0.05);
}

}  // namespace
}  // namespace k2k::host
