// Goal: k2k lab generators prints one row per generator, exits with 1 after a wrong answer, and
// refuses unknown names.
// Method: runs the binary named by K2K_CLI.

#include <sys/resource.h>

#include <string>

#include "tests/end_to_end/program.hpp"

namespace k2k::end_to_end::generators_test {
namespace {

using k2k::end_to_end::Outcome;
using k2k::end_to_end::Program;
using nlohmann::json;

class Generators : public Program {
 protected:
  // The output includes standard error.
  [[nodiscard]] Outcome generators(const std::string& arguments) const {
    return run("lab generators " + arguments + " 2>&1");
  }
  void expect_refused(const std::string& arguments, const std::string& message) {
    const Outcome outcome = generators(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "k2k: lab generators: " + message + "\n");
  }
};

TEST_F(Generators, all_agree_with_the_cpu) {
  const Outcome outcome = generators("--scale small --json");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json object = json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << outcome.out;
  ASSERT_EQ(object["rows"].size(), 10u);
  EXPECT_EQ(object["rows"][0]["generator"], "ubench");
  for (const json& row : object["rows"]) {
    const bool skipped = row["generator"] == "pages" && row["agrees"].is_null();
    EXPECT_TRUE(skipped || row["agrees"] == true) << row;
    EXPECT_TRUE(skipped || row["compared"].get<int>() > 100) << row;
    EXPECT_GT(row["faults"].get<int>(), 0) << row;
    EXPECT_GT(row["requests_per_s"].get<double>(), 0) << row;
    EXPECT_GT(row["service_us_per_request"].get<double>(), 0) << row;
  }
}

TEST_F(Generators, people_get_a_table_of_the_named_generators) {
  const Outcome outcome = generators("spmv ubench --scale small --per call --rate 1e5 --seed 3");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("service CPU"), std::string::npos) << outcome.out;
  const std::size_t ubench = outcome.out.find("\nubench");
  EXPECT_LT(ubench, outcome.out.find("\nspmv")) << outcome.out;
  EXPECT_NE(outcome.out.find("\nubench: offered 100000/s\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("\nbfs"), std::string::npos) << outcome.out;
}

// A limit permits files of 4 KiB, and the generator writes 32 KiB, so it reads back other data than
// it wrote.
TEST_F(Generators, wrong_answers_are_told_behind_the_table_and_exit_with_1) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const Outcome outcome = generators("files spmv --scale small");
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("NO: 1344 of 1536"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("k2k: lab generators: files: 1344 of 1536 answers are wrong; answer "),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\nspmv"), std::string::npos) << outcome.out;
}

TEST_F(Generators, a_wrong_setting_is_a_usage_error_with_its_generator) {
  const Outcome outcome = generators("bfs --scale small --device-stack-bytes 16384");
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_EQ(outcome.out.find("k2k: lab generators: bfs: "), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("device.stack_bytes is 16384"), std::string::npos) << outcome.out;
}

TEST_F(Generators, refuses_unknown_names_and_lists_the_known_names) {
  expect_refused("nothing",
                 "'nothing' does not exist; there are ubench, bpt, xsbench, bfs, spmv, sssp, heap, "
                 "pages, signals, files");
  expect_refused("--scale huge", "--scale is 'huge'; permitted are small, medium and large");
  expect_refused("--per page", "--per is 'page'; permitted are fault and call");
  for (const std::string rate : {"0", "0.5", "2e7", "fast", "nan", "-3"}) {
    expect_refused("--rate " + rate,
                   "--rate is '" + rate + "'; permitted are 1 to 1e+07 accesses a second, or inf");
  }
  expect_refused("--seed -1", "--seed is '-1'; permitted are 0 to 1000000000");
  expect_refused("bfs --rate 5", "--rate applies only to ubench; omit it, or name ubench");
  expect_refused("bfs spmv --per call", "--per applies only to ubench; omit it, or name ubench");
}

}  // namespace
}  // namespace k2k::end_to_end::generators_test
