// Goal: k2k lab coalescing compares on real servers and in simulated time, and refuses impossible
// options. No test depends on a duration. Method: runs the binary named by K2K_CLI.

#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::coalescing_test {
namespace {

using k2k::end_to_end::Outcome;
using k2k::end_to_end::Program;
using nlohmann::json;

class CoalescingLab : public Program {
 protected:
  void expect_refused(const std::string& arguments, const std::string& message) {
    const Outcome outcome = run("lab coalescing " + arguments + " 2>&1");
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "k2k: lab coalescing: " + message + "\n");
  }
};

void expect_row(const json& row, const std::string& shape) {
  EXPECT_EQ(row["shape"], shape);
  for (const char* key : {"requests", "none_us", "best_us", "adaptive_us", "best_delay_us",
                          "adaptive_delay_us", "ratio", "low", "high"}) {
    EXPECT_GT(row.value(key, -1.0), 0) << key << " of " << row;
  }
  EXPECT_LE(row["low"].get<double>(), row["ratio"].get<double>());
  EXPECT_LE(row["ratio"].get<double>(), row["high"].get<double>());
  ASSERT_EQ(row["fixed"].size(), 9u);
  EXPECT_EQ(row["fixed"][0]["window_us"], 0);
  for (const json& one : row["fixed"]) EXPECT_GT(one["cpu_us"].get<double>(), 0) << one;
  const std::string verdict = row["verdict"];
  EXPECT_TRUE(verdict == "met" || verdict == "missed" || verdict == "cannot tell") << verdict;
}

TEST_F(CoalescingLab, compares_on_real_servers) {
  const Outcome outcome = run("lab coalescing bursts lognormal --rounds 4 --slice 20 --json 2>&1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json object = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << outcome.out;
  EXPECT_EQ(object["rounds"], 4);
  EXPECT_EQ(object["slice_ms"], 20);
  EXPECT_EQ(object["simulated"], false);
  ASSERT_EQ(object["rows"].size(), 2u);
  expect_row(object["rows"][0], "bursts");
  expect_row(object["rows"][1], "lognormal");
}

TEST_F(CoalescingLab, simulates_every_shape_the_same_for_the_same_seed) {
  const Outcome outcome = run("lab coalescing --simulate --json --seed 5 2>&1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json object = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << outcome.out;
  ASSERT_EQ(object["rows"].size(), 5u);
  const char* const names[] = {"sparse", "dense", "bursts", "lognormal", "on_off"};
  for (int row = 0; row < 5; ++row) expect_row(object["rows"][row], names[row]);
  EXPECT_EQ(run("lab coalescing --simulate --json --seed 5 2>&1").out, outcome.out);
  EXPECT_NE(run("lab coalescing --simulate --json --seed 6 2>&1").out, outcome.out);
}

TEST_F(CoalescingLab, people_get_a_table) {
  const Outcome outcome = run("lab coalescing dense --simulate --rounds 4 2>&1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  for (const char* text : {"adaptive / best", "95 % interval", "verdict", "dense"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << outcome.out;
  }
}

TEST_F(CoalescingLab, refuses_impossible_shapes_rounds_and_slices) {
  expect_refused("calm",
                 "there is no shape 'calm'; shapes are sparse, dense, bursts, lognormal, on_off");
  for (const std::string rounds : {"3", "0", "1001", "-4", "many"}) {
    expect_refused("--rounds=" + rounds,
                   "--rounds is '" + rounds + "'; permitted are 4 to 1000: fewer give no interval");
  }
  for (const std::string slice : {"19", "10001", "nan", "long"}) {
    expect_refused("--slice " + slice, "--slice is '" + slice + "'; permitted are 20 to 10000 ms");
  }
}

}  // namespace
}  // namespace k2k::end_to_end::coalescing_test
