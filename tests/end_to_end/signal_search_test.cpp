// Goal: k2k-signal-search prints the digests that sha512sum computes from the files, in every way,
// with a full signal queue, too; it tells wrong inputs in one line.
// Method: runs the program beside the binary named by K2K_CLI.

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/application.hpp"

namespace k2k::end_to_end::signal_search_test {
namespace {

class SignalSearch : public Application {
 protected:
  SignalSearch() : Application("signal_search", "signal-search") {}
  void SetUp() override {
    Application::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(app("--generate in --records 3000 --queries 10001 --seed 5").status, 0);
  }
  [[nodiscard]] std::string bytes_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }
};

// The results by a map, hashed by another program.
TEST_F(SignalSearch, prints_the_digests_of_sha512sum) {
  const std::string records = bytes_of("in/records");
  const std::string queries = bytes_of("in/queries");
  std::map<std::string, std::string> by_key;
  for (std::size_t at = 0; at < records.size(); at += 64) {
    by_key[records.substr(at, 8)] = records.substr(at, 64);
  }
  std::string expected;
  constexpr std::size_t block = 2500;
  for (std::size_t first = 0; first * 8 < queries.size(); first += block) {
    std::ofstream results(folder_ / "block", std::ios::binary);
    for (std::size_t place = first; place < first + block && place * 8 < queries.size(); ++place) {
      const auto found = by_key.find(queries.substr(place * 8, 8));
      results << (found == by_key.end() ? std::string(64, '\0') : found->second);
    }
    results.close();
    const std::string line = in_folder("sha512sum block").out;
    expected += std::to_string(first / block) + " " + line.substr(0, 128) + "\n";
  }
  for (const char* way : {"serial", "launch", "signals", "direct"}) {
    const CommandOutcome outcome =
        app(std::string("--by ") + way + " --block-queries 2500 in/records in/queries");
    EXPECT_EQ(outcome.status, 0) << way;
    EXPECT_EQ(outcome.out, expected) << way;
  }
}

TEST_F(SignalSearch, loses_no_block_under_a_low_limit_of_signals) {
  const std::string right = app("--by serial --block-queries 100 in/records in/queries").out;
  for (const char* limit : {"0", "3"}) {
    const CommandOutcome outcome =
        in_folder(std::string("prlimit --sigpending=") + limit + " '" + program() +
                  "' --block-queries 100 in/records in/queries");
    EXPECT_EQ(outcome.status, 0) << limit;
    EXPECT_EQ(outcome.out, right) << limit;
  }
}

TEST_F(SignalSearch, tells_in_json_how_it_learned_of_the_blocks) {
  const CommandOutcome outcome = app("--json in/records in/queries");
  ASSERT_EQ(outcome.status, 0);
  const auto result = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result["blocks"], 10);
  EXPECT_EQ(result["digests"].size(), 10u);
  EXPECT_EQ(result["signalled"].get<int>() + result["swept"].get<int>(), 10);
}

TEST_F(SignalSearch, tells_wrong_inputs_in_one_line) {
  const struct {
    const char* arguments;
    int status;
    const char* message;
  } cases[] = {
      {"nowhere in/queries", 1, "k2k-signal-search: nowhere: No such file or directory\n"},
      {"in/records in", 1, "k2k-signal-search: in: Is a directory\n"},
      {"in/queries in/queries", 1,
       "k2k-signal-search: in/queries: 80008 bytes are no multiple of a record's 64\n"},
      {"in/records", 2,
       "k2k-signal-search: name a file of RECORDS and one of QUERIES; --generate FOLDER makes "
       "both\n"},
      {"--generate in", 1, "k2k-signal-search: in: File exists\n"},
  };
  for (const auto& each : cases) {
    const CommandOutcome outcome = app(std::string(each.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.status, each.status) << each.arguments;
    EXPECT_EQ(outcome.out, each.message) << each.arguments;
  }
  EXPECT_EQ(app("--by magic in/records in/queries 2>/dev/null").status, 2);
}

}  // namespace
}  // namespace k2k::end_to_end::signal_search_test
