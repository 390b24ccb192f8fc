// Goal: a request changes all of its keys in a running process, or none, and each mistake gives the
// permitted values.

#include "runtime/settings/control_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "runtime/settings/shortened.hpp"

namespace k2k {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

std::string shown(const char* name, const server::ServerConfig& config) {
  for (const ControlKey& key : control_keys()) {
    if (std::string_view(key.name) == name) return show_key(key, config);
  }
  return "no such key";
}

std::string refusal(const Values& values) {
  server::ServerConfig config;
  const Status status = set_keys(values, config);
  if (status) return "permitted";
  EXPECT_EQ(status.error().code, EINVAL);
  EXPECT_EQ(config.cap_permille, 0u);
  EXPECT_EQ(config.bottom_half, server::BottomHalfMode::monolithic);
  return status.error().message;
}

TEST(ControlKeys, are_all_set_together) {
  server::ServerConfig config;
  const Values values = {{"cap", "5%"},
                         {"governor", "displaced"},
                         {"steering", "steered"},
                         {"cores", "0-1"},
                         {"coalescing", "fixed"},
                         {"coalesce_window_us", "100"},
                         {"coalesce_max", "8"},
                         {"bottom_half", "split"},
                         {"loss_max", "2.5%"},
                         {"tenants", "1:weight=3 2:rate=50"},
                         {"preprocess_cores", "0"},
                         {"worker_cores", "1"}};
  const Status status = set_keys(values, config);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(config.cap_permille, 50u);
  EXPECT_EQ(config.governor, governor::Policy::displaced);
  EXPECT_EQ(config.cores, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(config.preprocess_cores, std::vector<std::uint32_t>{0});
  EXPECT_EQ(config.worker_cores, std::vector<std::uint32_t>{1});
  EXPECT_EQ(config.loss_max_permille, 25u);
  EXPECT_EQ(config.tenants, "1:weight=3 2:rate=50");
  for (const auto& [name, text] : values) {
    EXPECT_EQ(shown(name.c_str(), config), name == "cores" ? "0,1" : text) << name;
  }
}

// What ServerConfig may change while it serves; the table of settings marks the same.
TEST(ControlKeys, are_the_marked_settings_of_the_server) {
  std::vector<std::string> names;
  for (const ControlKey& key : control_keys()) names.push_back(key.name);
  EXPECT_EQ(names, (std::vector<std::string>{"cap", "governor", "loss_max", "tenants", "top_halves",
                                             "steering", "cores", "coalesce_window_us",
                                             "coalesce_max", "coalescing", "coalesce_delay_us",
                                             "bottom_half", "preprocess_cores", "worker_cores"}));
}

TEST(ControlKeys, leave_out_what_a_running_server_cannot_change) {
  for (const char* name : {"walls", "policy"}) {
    EXPECT_EQ(refusal({{name, "on"}}).find(std::string("unknown key '") + name + "'"), 0u) << name;
  }
}

TEST(ControlKeys, each_is_shown_as_it_may_be_written) {
  const server::ServerConfig config;
  for (const ControlKey& key : control_keys()) {
    server::ServerConfig again;
    const Status status = set_keys(Values{{key.name, show_key(key, config)}}, again);
    EXPECT_TRUE(status.ok()) << key.name << ": " << show_key(key, config);
  }
}

TEST(ControlKeys, share_is_a_percentage_with_its_sign) {
  server::ServerConfig config;
  ASSERT_TRUE(set_keys(Values{{"cap", "0.1%"}}, config).ok());
  EXPECT_EQ(config.cap_permille, 1u);
  EXPECT_EQ(shown("cap", config), "0.1%");
  ASSERT_TRUE(set_keys(Values{{"cap", "100%"}}, config).ok());
  EXPECT_EQ(config.cap_permille, 1000u);
  ASSERT_TRUE(set_keys(Values{{"cap", "off"}}, config).ok());
  EXPECT_EQ(shown("cap", config), "off");
  for (const char* bad : {"5", "0.05", "0%", "0.05%", "100.1%", "-5%", "%", "", "nan%", "inf%",
                          "5%%", " 5%", "1e1%", "0x5%", "on"}) {
    EXPECT_EQ(refusal({{"cap", bad}}),
              std::string("cap = '") + bad +
                  "'; permitted: a percentage such as 5% or 0.5%, or off, from 0.1% to 100% in "
                  "steps of 0.1%; nothing was changed");
  }
  EXPECT_NE(refusal({{"loss_max", "off"}}), "permitted") << "0 is out of its range";
}

TEST(ControlKeys, one_mistake_changes_nothing_at_all) {
  EXPECT_EQ(refusal({{"cap", "5%"}, {"bottom_half", "spilt"}}),
            "bottom_half = 'spilt'; permitted: one of monolithic, split, staged, inline; nothing "
            "was changed");
  EXPECT_EQ(refusal({{"bottom_half", "split"}, {"coalesce_max", "4097"}}),
            "coalesce_max = '4097'; permitted: a whole number from 1 to 4096 (requests a bundle); "
            "nothing was changed");
  EXPECT_EQ(refusal({{"cap", "5%"}, {"botom_half", "split"}})
                .find("unknown key 'botom_half'; did you mean 'bottom_half'?; permitted: cap, "),
            0u);
}

TEST(ControlKeys, a_message_shows_a_long_key_or_value_in_part) {
  const std::string part(shown_bytes_max, 'x');
  const std::string all = part + "yz";
  EXPECT_EQ(refusal({{"bottom_half", all}}),
            "bottom_half = '" + part +
                "...'; permitted: one of monolithic, split, staged, inline; nothing was changed");
  EXPECT_EQ(refusal({{all, "1"}}).find("unknown key '" + part + "...'; permitted: cap, "), 0u);
  // A character of two bytes across the limit is left out as a whole.
  const std::string before(shown_bytes_max - 1, 'x');
  EXPECT_EQ(
      refusal({{"bottom_half", before + "\xc3\xa9"}}).find("bottom_half = '" + before + "...'"),
      0u);
}

TEST(ControlKeys, words_for_completion_name_keys_and_choices) {
  const std::vector<std::string> words = control_words();
  for (const char* word : {"cap=", "governor=auto", "bottom_half=split", "coalescing=adaptive"}) {
    EXPECT_NE(std::find(words.begin(), words.end(), word), words.end()) << word;
  }
}

}  // namespace
}  // namespace k2k
