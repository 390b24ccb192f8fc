// Goal: kernels and libk2k_io.so are told of files by the same keys, with the same defaults.
// Method: an environment of the test's own.

#include "router/door/files_keys.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

namespace k2k::router {
namespace {

std::map<std::string, std::string> environment;

const char* variable_here(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

Result<FilesOptions> options_of(const std::map<std::string, std::string>& variables) {
  environment = variables;
  return files_options_from(variable_here);
}

FilesOptions good(const std::map<std::string, std::string>& variables) {
  const Result<FilesOptions> options = options_of(variables);
  EXPECT_TRUE(options.ok());
  return options.ok() ? options.value() : FilesOptions();
}

TEST(FilesKeys, have_a_variable_for_all_and_one_for_the_library) {
  std::string names;
  for (const FilesKey& key : files_keys) {
    names += variable_of(key) + " " + library_variable_of(key) + "\n";
  }
  EXPECT_EQ(names,
            "K2K_FILES_ROUTER K2K_IO_ROUTER\n"
            "K2K_FILES_READ_AHEAD_PAGES K2K_IO_READ_AHEAD_PAGES\n"
            "K2K_FILES_READ_AHEAD K2K_IO_READ_AHEAD\n"
            "K2K_CONSERVATIVE K2K_IO_CONSERVATIVE\n"
            "K2K_FILES_EXCLUSIVE K2K_IO_EXCLUSIVE\n"
            "K2K_FILES_DIRECT K2K_IO_DIRECT\n");
}

TEST(FilesKeys, that_nobody_sets_have_the_defaults) {
  const FilesOptions none = good({});
  const FilesOptions empty = good({{"K2K_IO_EXCLUSIVE", ""}, {"K2K_IO_READ_AHEAD_PAGES", ""}});
  for (const FilesKey& key : files_keys) {
    EXPECT_EQ(key.number(none), key.number(FilesOptions())) << key.key;
    EXPECT_EQ(key.number(empty), key.number(FilesOptions())) << key.key;
  }
  EXPECT_EQ(FilesOptions{}.read_ahead_pages, read_ahead_pages_default);
}

TEST(FilesKeys, of_the_library_override_those_of_all) {
  const FilesOptions options = good({{"K2K_FILES_EXCLUSIVE", "true"},
                                     {"K2K_CONSERVATIVE", "1"},
                                     {"K2K_IO_CONSERVATIVE", "0"},
                                     {"K2K_FILES_READ_AHEAD_PAGES", "7"},
                                     {"K2K_IO_ROUTER", "no"},
                                     {"K2K_IO_DIRECT", "staging"}});
  EXPECT_TRUE(options.exclusive);
  EXPECT_FALSE(options.conservative);
  EXPECT_FALSE(options.router);
  EXPECT_EQ(options.read_ahead_pages, 7u);
  EXPECT_EQ(options.read_ahead, FilesOptions::ReadAhead::automatic);
  EXPECT_EQ(options.direct, "staging");
  EXPECT_EQ(good({{"K2K_FILES_DIRECT", "staging"}}).direct, "") << "no variable of kernels";
}

TEST(FilesKeys, a_bound_of_pages_for_the_library_holds_on_all_devices) {
  const FilesOptions options = good({{"K2K_IO_READ_AHEAD_PAGES", "64"}});
  EXPECT_EQ(options.read_ahead_pages, 64u);
  EXPECT_EQ(options.read_ahead, FilesOptions::ReadAhead::bounded);
  EXPECT_EQ(good({{"K2K_IO_READ_AHEAD_PAGES", "64"}, {"K2K_IO_READ_AHEAD", "auto"}}).read_ahead,
            FilesOptions::ReadAhead::automatic);
}

TEST(FilesKeys, with_a_wrong_value_are_named) {
  for (const char* wrong : {"many", "-1", "1048577", "512k"}) {
    const Result<FilesOptions> options = options_of({{"K2K_IO_READ_AHEAD_PAGES", wrong}});
    ASSERT_FALSE(options.ok());
    EXPECT_EQ(options.error().code, EINVAL);
    EXPECT_EQ(options.error().message,
              "K2K_IO_READ_AHEAD_PAGES is not a number of pages from 0 to 1048576");
  }
  EXPECT_EQ(options_of({{"K2K_FILES_READ_AHEAD", "some"}}).error().message,
            "K2K_FILES_READ_AHEAD is 'some'; permitted are auto|bounded");
}

}  // namespace
}  // namespace k2k::router
