#pragma once
// For tests of programs that look up in a file (k2k-bpt, k2k-xsbench): makes their files, opens
// them and runs them, in each way.
//
// Threading: the test's.

#include <string>
#include <utility>

#include "apps/common/input_fixture.hpp"
#include "apps/common/lookups.hpp"

namespace k2k::apps {

inline constexpr const char* anew = "; make the file anew with --generate";
inline constexpr LookupSettings ways[] = {{.by = By::kernel},
                                          {.by = By::kernel, .mode = Mode::pinned},
                                          {.by = By::threads},
                                          {.by = By::threads, .mode = Mode::pinned}};

// Recipe and File are the program's; generate(), open_file() and look_up() are its functions.
template <class Recipe, class File, auto generate, auto open_file, auto look_up>
class LookupTest : public InputTest {
 protected:
  // A new folder with the two files. Returns the path of one.
  std::string made(const Recipe& recipe, const char* order = "unsorted") {
    const std::string folder = path(std::to_string(count_++));
    const Status status = generate(folder, recipe);
    EXPECT_TRUE(status) << status.error().message;
    return folder + "/" + order;
  }
  static File open(const std::string& name) {
    auto file = open_file(name);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(file).value();
  }
  static LookupOutcome run(const std::string& name, const LookupSettings& settings) {
    auto outcome = look_up(open(name), settings, small_device());
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? std::move(outcome.value()) : LookupOutcome();
  }
  static std::string failure(const File& file, const LookupSettings& settings) {
    return refusal(file.path, look_up(file, settings, small_device()));
  }
  static std::string open_failure(const std::string& name) {
    return refusal(name, open_file(name));
  }
  // The same in every way.
  static std::string failure_of(const std::string& name) {
    const std::string told = failure(open(name), {});
    for (const LookupSettings& way : ways) EXPECT_EQ(failure(open(name), way), told);
    return told;
  }

 private:
  int count_ = 0;
};

}  // namespace k2k::apps
