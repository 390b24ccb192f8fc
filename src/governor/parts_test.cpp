// Goal: for any wishes, honest or not, the parts are at most the limit, and a user who wants at
// most a fair share gets it. Method: properties over 2,000 random lists of wishes, and the corner
// cases by hand.

#include "governor/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

namespace k2k::governor {
namespace {

constexpr double rounding = 1e-12;

double sum(const std::vector<double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

// A few users, up to twelve processes, including wishes that no honest process would make.
class Wishes {
 public:
  explicit Wishes(std::uint32_t seed) : random_(seed) {}

  double limit() { return uniform(0.0001, 1); }
  std::vector<Wish> list() {
    std::vector<Wish> wishes(std::uniform_int_distribution<std::size_t>(1, 12)(random_));
    for (Wish& wish : wishes) {
      wish.user = std::uniform_int_distribution<std::uint32_t>(1000, 1003)(random_);
      wish.cap = value();
      wish.demand = value();
    }
    return wishes;
  }
  std::mt19937& random() { return random_; }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double value() {
    constexpr double odd[] = {0,
                              1,
                              -1,
                              1e300,
                              -1e300,
                              std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};
    const auto kind = std::uniform_int_distribution<std::size_t>(0, 20)(random_);
    return kind < std::size(odd) ? odd[kind] : uniform(0, kind % 2 == 0 ? 1 : 0.05);
  }
  std::mt19937 random_;
};

double wanted(const Wish& wish) {
  const auto fraction = [](double value) { return value > 0 ? std::min(value, 1.0) : 0; };
  return std::min(fraction(wish.cap), fraction(wish.demand));
}

template <class Property>
void for_all(const Property& property) {
  for (std::uint32_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Wishes wishes(seed);
    const double limit = wishes.limit();
    property(limit, wishes.list(), wishes.random());
  }
}

TEST(Parts, are_never_more_than_the_limit_nor_than_a_cap) {
  for_all([](double limit, const std::vector<Wish>& wishes, std::mt19937&) {
    const std::vector<double> parts = divide(limit, wishes);
    ASSERT_EQ(parts.size(), wishes.size());
    EXPECT_LE(sum(parts), limit + rounding);
    for (std::size_t place = 0; place < parts.size(); ++place) {
      EXPECT_GE(parts[place], 0);
      EXPECT_LE(parts[place], (wishes[place].cap > 0 ? wishes[place].cap : 0) + rounding);
    }
  });
}

TEST(Parts, leave_no_usable_rest) {
  for_all([](double limit, const std::vector<Wish>& wishes, std::mt19937&) {
    double caps = 0;
    for (const Wish& wish : wishes) caps += wish.cap > 0 ? std::min(wish.cap, 1.0) : 0;
    EXPECT_NEAR(sum(divide(limit, wishes)), std::min(limit, caps), 1e-9);
  });
}

TEST(Parts, grant_wishes_up_to_the_fair_share_completely) {
  for_all([](double limit, const std::vector<Wish>& wishes, std::mt19937&) {
    std::map<std::uint32_t, int> processes;
    for (const Wish& wish : wishes) ++processes[wish.user];
    const std::vector<double> parts = divide(limit, wishes);
    for (std::size_t place = 0; place < wishes.size(); ++place) {
      const double fair =
          limit / static_cast<double>(processes.size()) / processes[wishes[place].user];
      EXPECT_GE(parts[place], std::min(wanted(wishes[place]), fair) - rounding);
    }
  });
}

TEST(Parts, rise_or_stay_when_the_processs_own_cap_rises) {
  for_all([](double limit, std::vector<Wish> wishes, std::mt19937& random) {
    for (std::size_t place = 0; place < wishes.size(); ++place) {
      const double before = divide(limit, wishes)[place];
      const double cap = wishes[place].cap;
      wishes[place].cap = (cap > 0 ? cap : 0) + std::uniform_real_distribution<>(0, 0.5)(random);
      EXPECT_GE(divide(limit, wishes)[place], before - rounding);
      wishes[place].cap = cap;
    }
  });
}

TEST(Parts, do_not_depend_on_the_order) {
  for_all([](double limit, const std::vector<Wish>& wishes, std::mt19937& random) {
    const std::vector<double> parts = divide(limit, wishes);
    std::vector<std::size_t> order(wishes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Wish> shuffled;
    for (const std::size_t place : order) shuffled.push_back(wishes[place]);
    const std::vector<double> again = divide(limit, shuffled);
    for (std::size_t place = 0; place < order.size(); ++place) {
      EXPECT_NEAR(again[place], parts[order[place]], rounding);
    }
  });
}

TEST(Parts, of_a_lone_process_are_the_limit_or_its_cap) {
  EXPECT_EQ(divide(0.05, std::vector<Wish>{{1, 1, 0}}), std::vector<double>{0.05});
  EXPECT_EQ(divide(0.05, std::vector<Wish>{{1, 0.02, 1}}), std::vector<double>{0.02});
  EXPECT_TRUE(divide(0.05, {}).empty());
}

TEST(Parts, of_one_user_do_not_grow_with_the_number_of_processes) {
  std::vector<Wish> wishes = {{1, 1, 1}};
  for (int process = 0; process < 9; ++process) wishes.push_back({2, 1, 1});
  const std::vector<double> parts = divide(0.1, wishes);
  EXPECT_DOUBLE_EQ(parts[0], 0.05);
  EXPECT_NEAR(parts[1], 0.05 / 9, rounding);
}

TEST(Parts, that_are_unused_go_to_the_others) {
  const std::vector<double> parts = divide(0.1, std::vector<Wish>{{1, 1, 0.01}, {2, 1, 1}});
  EXPECT_DOUBLE_EQ(parts[0], 0.01);
  EXPECT_DOUBLE_EQ(parts[1], 0.09);
}

TEST(Parts, of_a_limit_that_is_no_number_are_zero) {
  EXPECT_EQ(divide(std::numeric_limits<double>::quiet_NaN(), std::vector<Wish>{{1, 1, 1}}),
            std::vector<double>{0.0});
  EXPECT_EQ(divide(-1, std::vector<Wish>{{1, 1, 1}}), std::vector<double>{0.0});
}

}  // namespace
}  // namespace k2k::governor
