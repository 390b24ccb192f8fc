// Goal: kernels and libk2k_io.so have the same keys for files, with the same defaults. Method: an
// environment of the test's own.

#include "router/door/files_keys.hpp"

#include <gtest/gtest.h>

#include <map>

namespace k2k::router {
namespace {

std::map<std::string, std::string> environment;

const char* variable_here(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

FilesVariables read(const std::map<std::string, std::string>& variables) {
  environment = variables;
  return files_options_from(variable_here);
}

FilesOptions good(const std::map<std::string, std::string>& variables) {
  FilesVariables all = read(variables);
  for (const std::string& ignored : all.ignored) ADD_FAILURE() << ignored;
  return all.options;
}

// The complaint about a variable with a value that is not permitted.
std::string message(const char* name, const std::string& value) {
  const FilesVariables all = read({{name, value}});
  EXPECT_EQ(all.ignored.size(), 1u) << value;
  for (const FilesKey& key : files_keys) {
    EXPECT_EQ(key.number(all.options), key.number(FilesOptions())) << key.key;
  }
  EXPECT_EQ(all.options.direct, "");
  return all.ignored.empty() ? "" : all.ignored.front();
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

TEST(FilesKeys, without_a_variable_have_the_defaults) {
  const FilesOptions none = good({});
  for (const FilesKey& key : files_keys) {
    EXPECT_EQ(key.number(none), key.number(FilesOptions())) << key.key;
  }
  EXPECT_EQ(FilesOptions{}.read_ahead_pages, read_ahead_pages_default);
}

TEST(FilesKeys, of_the_library_override_the_common_keys) {
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
  EXPECT_EQ(good({{"K2K_FILES_DIRECT", "staging"}}).direct, "")
      << "this variable does not count for kernels";
}

TEST(FilesKeys, a_bound_of_pages_for_the_library_holds_on_all_devices) {
  const FilesOptions options = good({{"K2K_IO_READ_AHEAD_PAGES", "64"}});
  EXPECT_EQ(options.read_ahead_pages, 64u);
  EXPECT_EQ(options.read_ahead, FilesOptions::ReadAhead::bounded);
  EXPECT_EQ(good({{"K2K_IO_READ_AHEAD_PAGES", "64"}, {"K2K_IO_READ_AHEAD", "auto"}}).read_ahead,
            FilesOptions::ReadAhead::automatic);
}

TEST(FilesKeys, with_a_wrong_value_are_named_and_keep_their_default) {
  for (const char* wrong : {"many", "-1", "1048577", "512k", ""}) {
    EXPECT_EQ(message("K2K_IO_READ_AHEAD_PAGES", wrong),
              "environment K2K_IO_READ_AHEAD_PAGES: files.read_ahead_pages = '" +
                  std::string(wrong) +
                  "'; permitted: a whole number from 0 to 1048576 (pages of 4 KiB)");
  }
  for (const char* wrong : {"maybe", "2", "True", ""}) {
    EXPECT_EQ(message("K2K_FILES_EXCLUSIVE", wrong),
              "environment K2K_FILES_EXCLUSIVE: files.exclusive = '" + std::string(wrong) +
                  "'; permitted: true or false");
    EXPECT_EQ(message("K2K_IO_EXCLUSIVE", wrong),
              "environment K2K_IO_EXCLUSIVE: files.exclusive = '" + std::string(wrong) +
                  "'; permitted: true or false");
  }
  EXPECT_EQ(message("K2K_FILES_READ_AHEAD", "some"),
            "environment K2K_FILES_READ_AHEAD: files.read_ahead = 'some'; permitted: one of auto, "
            "bounded");
  EXPECT_EQ(message("K2K_IO_DIRECT", "fast"),
            "environment K2K_IO_DIRECT: files.direct = 'fast'; permitted: one of staging, cufile, "
            "hipfile");
  EXPECT_EQ(message("K2K_IO_ROUTER", std::string(1 << 20, 'x')),
            "environment K2K_IO_ROUTER: files.router = '" + std::string(100, 'x') +
                "'; permitted: true or false");
}

TEST(FilesKeys, with_a_value_that_is_not_permitted_do_not_override) {
  const FilesVariables all = read({{"K2K_FILES_EXCLUSIVE", "on"},
                                   {"K2K_IO_EXCLUSIVE", "maybe"},
                                   {"K2K_CONSERVATIVE", "perhaps"},
                                   {"K2K_IO_CONSERVATIVE", "yes"}});
  EXPECT_EQ(all.ignored.size(), 2u);
  EXPECT_TRUE(all.options.exclusive);
  EXPECT_TRUE(all.options.conservative);
}

}  // namespace
}  // namespace k2k::router
