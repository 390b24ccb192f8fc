// Goal: k2k-miniamr prints one checksum in every way, its resident memory at each step, and one
// line for what it cannot do; within a memory limit it ends with a watermark. Method: runs the
// program beside the binary named by K2K_CLI.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::miniamr_test {
namespace {

using nlohmann::json;

class Miniamr : public Application {
 protected:
  Miniamr() : Application("miniamr", "miniamr") {}
  [[nodiscard]] json result(const std::string& arguments) const {
    return json_of(size_ + arguments);
  }
  const std::string size_ = "--roots 4 --steps 6 --period 6 ";
};

TEST_F(Miniamr, has_the_cells_of_the_serial_program) {
  const json serial = result("--by serial");
  const json never = result("");
  const json always = result("--watermark 1 --items 5");
  EXPECT_EQ(never["checksum"], serial["checksum"]);
  EXPECT_EQ(always["checksum"], serial["checksum"]);
  EXPECT_EQ(serial["resident_bytes"].size(), 0u);
  EXPECT_EQ(never["resident_bytes"].size(), 6u);
  EXPECT_EQ(never["returned_bytes"], 0);
  EXPECT_GT(always["returned_bytes"], 0);
  EXPECT_EQ(always["failed_calls"], 0);
}

TEST_F(Miniamr, prints_the_most_memory_for_people) {
  const CommandOutcome outcome = app(size_);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.rfind("checksum ", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find(" MiB resident, 0.0 MiB returned\n"), std::string::npos)
      << outcome.out;
}

TEST_F(Miniamr, is_killed_at_a_limit_with_one_line) {
  const CommandOutcome outcome = app("--roots 12 --steps 2 --period 2 --limit 20 2>&1");
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  const bool no_group = outcome.out.find("--limit needs a memory cgroup (") != std::string::npos;
  EXPECT_TRUE(no_group ||
              outcome.out ==
                  "k2k-miniamr: killed by Linux at the limit of 20 MiB; set --watermark "
                  "below it\n")
      << outcome.out;
}

TEST_F(Miniamr, refuses_sizes_that_it_has_not) {
  EXPECT_EQ(app("--roots 1 2>&1").status, 2);
  EXPECT_EQ(app("--roots 33 2>&1").status, 2);
  EXPECT_EQ(app("--period 1 2>&1").status, 2);
  EXPECT_EQ(app("--by nobody 2>&1").status, 2);
}

}  // namespace
}  // namespace k2k::end_to_end::miniamr_test
