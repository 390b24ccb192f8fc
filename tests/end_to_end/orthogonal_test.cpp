// Goal: k2k lab orthogonal prints one row per combination, and refuses impossible options.
// Method: runs the binary named by K2K_CLI.

#include <set>
#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::orthogonal_test {
namespace {

using k2k::end_to_end::Outcome;
using k2k::end_to_end::Program;
using nlohmann::json;

class OrthogonalLab : public Program {};

TEST_F(OrthogonalLab, prints_each_combination_under_a_cap) {
  const Outcome outcome = run("lab orthogonal --seconds 0.2 --cap 25% --json 2>&1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json object = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << outcome.out;
  std::set<std::string> all;
  for (const json& row : object["rows"]) {
    all.insert(row["steering"].dump() + row["coalescing"].dump() + row["bottom_half"].dump());
    EXPECT_EQ(row["cap"], 0.25);
    EXPECT_EQ(row["seconds"], 0.2);
    for (const char* key : {"share", "throughput", "per_cpu_s", "delay_p50_us", "delay_p99_us"}) {
      EXPECT_GT(row.value(key, -1.0), 0) << key << " of " << row;
    }
  }
  EXPECT_EQ(all.size(), 12u) << outcome.out;
}

TEST_F(OrthogonalLab, refuses_impossible_caps_and_times) {
  for (const std::string cap : {"0", "0.05%", "101%", "0.0015", "much"}) {
    const Outcome outcome = run("lab orthogonal --cap " + cap + " 2>&1");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "k2k: lab orthogonal: --cap is '" + cap +
                               "'; permitted is a fraction of the CPU time of all cores, 0.001 to "
                               "1 in steps of 0.001, or 0.1% to 100%\n");
  }
  for (const std::string seconds : {"0.1", "61", "long", "nan"}) {
    const Outcome outcome = run("lab orthogonal --seconds " + seconds + " 2>&1");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out,
              "k2k: lab orthogonal: --seconds is '" + seconds + "'; permitted are 0.2 to 60\n");
  }
}

}  // namespace
}  // namespace k2k::end_to_end::orthogonal_test
