// Goal: the strongest source wins, every value has its origin, and a mistake in any source gives
// one line with the place, the mistake and the permitted values.

#include "runtime/settings/config.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/sources_fixture.hpp"
#include "k2k/runtime.hpp"
#include "router/door/files_keys.hpp"
#include "runtime/settings/nearest.hpp"

namespace k2k {
namespace {

using testing::Message;

const Setting& setting(const LoadedConfig& loaded, std::string_view key) {
  return *std::find_if(loaded.settings.begin(), loaded.settings.end(),
                       [&](const Setting& one) { return one.key == key; });
}

// A configuration file that lives as long as the test.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest() : path_(testing::TempDir() + "k2k_config_" + std::to_string(getpid()) + ".toml") {}
  ~ConfigTest() override { ::unlink(path_.c_str()); }

  ConfigInputs with_file(const std::string& text) {
    std::ofstream(path_) << text;
    ConfigInputs inputs;
    inputs.file = path_;
    return inputs;
  }
  // The message for a file with this text; "" if it is accepted. The path is left out.
  std::string complaint(const std::string& text) {
    const Result<LoadedConfig> loaded = load_config(with_file(text));
    if (loaded) return "";
    EXPECT_EQ(loaded.error().code, EINVAL);
    std::string message = loaded.error().message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(path_)) << message;
    return message.substr(path_.size());
  }
  std::string path_;
};

std::string environment_complaint(const std::string& name, const std::string& value) {
  ConfigInputs inputs;
  inputs.environment = {{name, value}};
  const Result<LoadedConfig> loaded = load_config(inputs);
  return loaded ? "" : loaded.error().message;
}

TEST_F(ConfigTest, defaults_equal_the_structures) {
  const Result<LoadedConfig> loaded = load_config({});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const RuntimeConfig defaults;
  EXPECT_EQ(loaded.value().config.backend, "cpu");
  EXPECT_EQ(loaded.value().config.device.wave_lanes, defaults.device.wave_lanes);
  EXPECT_EQ(loaded.value().config.server.sleep_us, defaults.server.sleep_us);
  for (const Setting& one : loaded.value().settings) EXPECT_EQ(one.origin, "default") << one.key;
}

TEST_F(ConfigTest, every_default_may_be_set_by_its_own_text) {
  for (const ConfigOption& option : config_options()) {
    const ConfigValues defaults;
    const std::string text = option.show(defaults, option);
    const Result<OptionValue> value = parse_value(option, text);
    ASSERT_TRUE(value.ok()) << option.key << " = " << text << ": " << value.error().message;
    ConfigValues copy;
    option.store(copy, value.value());
    EXPECT_EQ(option.show(copy, option), text) << option.key;
  }
}

TEST_F(ConfigTest, a_share_is_read_in_percent_or_thousandths_and_shown_in_percent) {
  const ConfigOption& cap = *find_option("server.cap_permille");
  const std::pair<const char*, std::uint64_t> good[] = {
      {"5%", 50}, {"0.5%", 5}, {"100%", 1000}, {"50", 50}, {"0", 0}, {"0%", 0}, {"off", 0}};
  for (const auto& [text, permille] : good) {
    const Result<OptionValue> value = parse_value(cap, text);
    ASSERT_TRUE(value.ok()) << text << ": " << value.error().message;
    EXPECT_EQ(value.value().number, permille) << text;
  }
  for (const char* bad : {"0.05%", "100.1%", "-5%", "%", "0.5", "1001", "5 %", "5%%", "much", ""}) {
    const Result<OptionValue> value = parse_value(cap, bad);
    ASSERT_FALSE(value.ok()) << bad;
    EXPECT_EQ(
        value.error().message,
        "a percentage such as 5% or 0.5% in steps of 0.1%, a whole number of thousandths from "
        "0 to 1000, or off");
  }
  EXPECT_FALSE(parse_value(*find_option("server.loss_max_permille"), "off").ok());
  EXPECT_FALSE(parse_value(*find_option("server.loss_max_permille"), "0%").ok());

  for (const char* in_file : {"\"2.5%\"", "25"}) {
    const auto loaded =
        load_config(with_file(std::string("[server]\ncap_permille = ") + in_file + "\n"));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded.value().config.server.cap_permille, 25u);
    const std::string shown = setting(loaded.value(), "server.cap_permille").value;
    EXPECT_EQ(shown, "2.5%");
    EXPECT_EQ(plain_value(cap, shown), "25");
  }
  const std::string bare = load_config(with_file("[server]\ncap_permille = 5%\n")).error().message;
  EXPECT_TRUE(bare.ends_with("; a percentage stands in quotes: \"5%\"")) << bare;
  ConfigInputs inputs = with_file("");
  inputs.environment = {{"K2K_SERVER_CAP_PERMILLE", "5%"}};
  EXPECT_EQ(load_config(inputs).value().config.server.cap_permille, 50u);
}

TEST_F(ConfigTest, keys_variables_and_flags_are_unique) {
  std::set<std::string> names;
  for (const ConfigOption& option : config_options()) {
    EXPECT_TRUE(names.insert(option.key).second) << option.key;
    EXPECT_TRUE(names.insert(environment_name(option)).second) << option.key;
    EXPECT_TRUE(names.insert(flag_name(option)).second) << option.key;
    EXPECT_STRNE(option.help, "") << option.key;
    EXPECT_EQ(std::string(option.help).back(), '.') << option.key;
  }
  EXPECT_EQ(environment_name(*find_option("device.compute_units")), "K2K_DEVICE_COMPUTE_UNITS");
  EXPECT_EQ(flag_name(*find_option("device.compute_units")), "--device-compute-units");
}

TEST_F(ConfigTest, flag_beats_environment_beats_file_beats_default) {
  ConfigInputs inputs = with_file("[server]\nspin_us = 1\nyield_us = 1\nsleep_us = 100\n");
  inputs.environment = {{"K2K_SERVER_SPIN_US", "2"}, {"K2K_SERVER_YIELD_US", "2"}};
  inputs.flags = {{"server.spin_us", "3", "flag --server-spin-us"}};
  const Result<LoadedConfig> loaded = load_config(inputs);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const server::ServerConfig& server = loaded.value().config.server;
  EXPECT_EQ(server.spin_us, 3u);
  EXPECT_EQ(server.yield_us, 2u);
  EXPECT_EQ(server.sleep_us, 100u);
  EXPECT_EQ(setting(loaded.value(), "server.spin_us").origin, "flag --server-spin-us");
  EXPECT_EQ(setting(loaded.value(), "server.yield_us").origin, "environment K2K_SERVER_YIELD_US");
  EXPECT_EQ(setting(loaded.value(), "server.sleep_us").origin, "file " + path_ + ":4");
  EXPECT_EQ(setting(loaded.value(), "server.rescan_us").origin, "default");
}

TEST_F(ConfigTest, reads_every_kind_of_value) {
  const Result<LoadedConfig> loaded = load_config(with_file(
      "backend = 'cpu'\n[device]\nwave_lanes = 64\nschedule = 'adversarial'\nstrict = true\n"
      "seed = 9223372036854775807\n[server]\ncores = '0,2-3'\nsteering = \"steered\"\n"
      "spin_us = 7\n"));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const RuntimeConfig& config = loaded.value().config;
  EXPECT_EQ(config.device.wave_lanes, 64u);
  EXPECT_EQ(config.device.schedule, backend::Schedule::adversarial);
  EXPECT_TRUE(config.device.strict);
  EXPECT_EQ(config.device.seed, 9223372036854775807u);
  EXPECT_EQ(config.server.cores, (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(config.server.steering, server::Steering::steered);
  EXPECT_EQ(config.server.spin_us, 7u);
  EXPECT_EQ(setting(loaded.value(), "server.cores").value, "0,2,3");
  EXPECT_TRUE(load_config(with_file("server.cores = [1, 0]\n")).ok());
}

TEST_F(ConfigTest, names_line_value_and_range_of_a_wrong_value) {
  EXPECT_EQ(complaint("[server]\n\nsleep_us = 49\n"),
            ":3: server.sleep_us = 49; permitted: a whole number from 50 to 1000000 "
            "(microseconds)");
  EXPECT_EQ(complaint("[device]\nwave_lanes = 48\n"),
            ":2: device.wave_lanes = 48; permitted: one of 32, 64");
  EXPECT_EQ(complaint("[device]\nspin_us = -1\n"),
            ":2: device.spin_us = -1; permitted: a whole number from 0 to 1000000 (microseconds)");
  EXPECT_EQ(complaint("device.schedule = 'fair'\n"),
            ":1: device.schedule = 'fair'; permitted: one of round_robin, random, adversarial");
  EXPECT_NE(complaint("server.cores = '3-1'"), "");
  EXPECT_NE(complaint("server.cores = '0,,1'"), "");
  EXPECT_NE(complaint("server.cores = '0-4095'"), "");
  EXPECT_NE(complaint("server.cores = [0.5]"), "");
  EXPECT_NE(complaint("backend = ''"), "");
}

TEST_F(ConfigTest, names_a_wrong_type) {
  EXPECT_EQ(complaint("[device]\nspin_us = 'long'\n"),
            ":2: device.spin_us = 'long' has the wrong type; permitted: a whole number from 0 to "
            "1000000 (microseconds)");
  EXPECT_NE(complaint("device.strict = 1").find("has the wrong type; permitted: true or false"),
            std::string::npos);
  EXPECT_NE(complaint("device.seed = 1.5").find("= 1.5 has the wrong type"), std::string::npos);
  EXPECT_NE(complaint("device = 5"), "");
  EXPECT_NE(complaint("device.seed = {}"), "");
  EXPECT_NE(complaint("device.seed = {low = 5}"), "");
  EXPECT_NE(complaint("device.seed = 1979-05-27"), "");
}

TEST_F(ConfigTest, suggests_the_nearest_key) {
  EXPECT_EQ(complaint("[device]\nspin_u = 5\n"),
            ":2: unknown key 'device.spin_u' = 5; did you mean 'device.spin_us'? 'k2k config show' "
            "lists every key");
  EXPECT_EQ(
      complaint("[devise]\n"),
      ":1: unknown section 'devise'; did you mean 'device'? permitted: device, server, files, "
      "control, metrics");
  EXPECT_EQ(complaint("colour_of_the_sky = 'blue'"),
            ":1: unknown key 'colour_of_the_sky' = 'blue'; 'k2k config show' lists every key");
}

TEST_F(ConfigTest, names_a_variable_of_files_with_a_wrong_value) {
  EXPECT_EQ(environment_complaint("K2K_FILES_EXCLUSIVE", "maybe"),
            "environment K2K_FILES_EXCLUSIVE: files.exclusive = 'maybe'; permitted: true or false");
  EXPECT_EQ(environment_complaint("K2K_FILES_READ_AHEAD", "some"),
            "environment K2K_FILES_READ_AHEAD: files.read_ahead = 'some'; permitted: one of auto, "
            "bounded");
  EXPECT_EQ(environment_complaint("K2K_CONSERVATIVE", ""),
            "environment K2K_CONSERVATIVE: files.conservative = ''; permitted: true or false");
}

TEST_F(ConfigTest, gives_the_place_where_a_file_is_malformed) {
  EXPECT_TRUE(complaint("[device]\nspin_us = = 5\n").starts_with(":2: "));
  EXPECT_TRUE(complaint("[device\n").starts_with(":1: "));
  EXPECT_TRUE(complaint("device.seed = 1\ndevice.seed = 2\n").starts_with(":2: "));
  EXPECT_NE(complaint(std::string("\xff\xfe\0\0", 4)), "");
  EXPECT_NE(complaint("device.seed = 99999999999999999999"), "");
}

TEST_F(ConfigTest, refuses_nul_bytes_and_invalid_utf8_with_their_place) {
  for (const std::string& text :
       {std::string("\nspin\0us = 5\n", 13), std::string("\nbackend = 'c\0u'\n", 17),
        std::string("\n# \xff\n"), std::string("\n'\xc3(' = 1\n"),
        std::string("\nbackend = '\xed\xa0\x80'\n")}) {
    EXPECT_TRUE(complaint(text).starts_with(":2: ")) << complaint(text);
  }
}

TEST_F(ConfigTest, refuses_keys_too_deep_for_the_parser) {
  std::string deep;
  for (int level = 0; level < 400'000; ++level) deep += "a.";
  const std::string message =
      ":2: more than 32 dots in a line; fix the file or name another with --config";
  EXPECT_EQ(complaint("\n" + deep + "a = 1\n"), message);
  EXPECT_EQ(complaint("\n [" + deep + "a]"), message);
  EXPECT_EQ(complaint("  #" + deep + "\n"), "") << "a comment may have any number of dots";
  EXPECT_EQ(complaint("a.b.c = 1\n"),
            ":1: unknown section 'a.b'; permitted: device, server, files, control, metrics");
  std::string nested;
  for (int level = 0; level < 255; ++level) nested += deep.substr(0, 64) + "a = [\n{";
  EXPECT_NE(complaint(nested), "");
  EXPECT_NE(complaint("a = " + std::string(500'000, '[')), "");
}

TEST_F(ConfigTest, shows_the_beginning_of_long_texts) {
  const std::string name(500'000, 'x');
  EXPECT_EQ(complaint(name + " = '" + name + "'\n"), ":1: unknown key '" + name.substr(0, 100) +
                                                         "...' = '" + name.substr(0, 99) +
                                                         "...; 'k2k config show' lists every key");
  EXPECT_LT(complaint("[" + name + "]\n").size(), 300u);
  EXPECT_LT(complaint("device.schedule = '" + name + "'\n").size(), 300u);
  EXPECT_LT(environment_complaint("K2K_" + name, name).size(), 400u);
}

TEST_F(ConfigTest, accepts_an_empty_file_and_empty_sections) {
  EXPECT_EQ(complaint(""), "");
  EXPECT_EQ(complaint("# nothing\n[device]\n[server]\n"), "");
}

TEST_F(ConfigTest, refuses_a_missing_a_huge_and_an_unreadable_file) {
  ConfigInputs inputs;
  inputs.file = "/nonexistent/k2k.toml";
  EXPECT_EQ(load_config(inputs).error().code, ENOENT);
  EXPECT_EQ(load_config(inputs).error().message,
            "/nonexistent/k2k.toml: No such file or directory; fix the file or name another with "
            "--config");
  inputs.file = "/";
  EXPECT_EQ(load_config(inputs).error().code, EISDIR);
  inputs.file = "/dev/null";
  EXPECT_TRUE(load_config(inputs).ok()) << "an empty file";
  inputs.file = "/dev/zero";
  EXPECT_EQ(load_config(inputs).error().code, EFBIG);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  inputs.file = path_;
  EXPECT_EQ(load_config(inputs).error().message,
            path_ +
                ": a FIFO, socket or block device, not a configuration file; fix the file or "
                "name another with --config");
  ::unlink(path_.c_str());
  EXPECT_EQ(load_config(with_file(std::string((1u << 20) + 1, '#'))).error().code, EFBIG);
  if (::geteuid() != 0) {
    const ConfigInputs closed = with_file("");
    ::chmod(path_.c_str(), 0);
    EXPECT_EQ(load_config(closed).error().code, EACCES);
  }
}

TEST_F(ConfigTest, finds_the_file_where_the_base_directories_say) {
  ConfigInputs inputs;
  EXPECT_EQ(config_path(inputs), "");
  inputs.environment = {{"HOME", "/home/ada"}};
  EXPECT_EQ(config_path(inputs), "/home/ada/.config/k2k/config.toml");
  inputs.environment.emplace_back("XDG_CONFIG_HOME", "relative");
  EXPECT_EQ(config_path(inputs), "/home/ada/.config/k2k/config.toml");
  inputs.environment.back().second = "/etc/xdg";
  EXPECT_EQ(config_path(inputs), "/etc/xdg/k2k/config.toml");
  EXPECT_TRUE(load_config(inputs).ok()) << "a missing default file is no error";
  inputs.environment.emplace_back("K2K_CONFIG", "/nonexistent/named.toml");
  EXPECT_EQ(config_path(inputs), "/nonexistent/named.toml");
  EXPECT_FALSE(load_config(inputs).ok()) << "a missing named file is an error";
  inputs.file = "";
  EXPECT_TRUE(load_config(inputs).ok()) << "--config '' reads no file";
}

TEST_F(ConfigTest, refuses_wrong_and_unknown_variables) {
  EXPECT_EQ(environment_complaint("K2K_DEVICE_SPIN_US", "soon"),
            "environment K2K_DEVICE_SPIN_US: device.spin_us = 'soon'; permitted: a whole number "
            "from 0 to 1000000 (microseconds)");
  EXPECT_EQ(environment_complaint("K2K_DEVICE_SPINUS", "1"),
            "environment K2K_DEVICE_SPINUS = '1': unknown variable; did you mean "
            "'K2K_DEVICE_SPIN_US'? unset it, or see 'k2k help config'");
  EXPECT_NE(environment_complaint("K2K_DEVICE_SPIN_US", ""), "");
  EXPECT_NE(environment_complaint("K2K_DEVICE_SPIN_US", "18446744073709551616"), "");
  EXPECT_NE(environment_complaint("K2K_DEVICE_SPIN_US", "+1"), "");
  EXPECT_NE(environment_complaint("K2K_DEVICE_STRICT", "maybe"), "");
  for (const char* ours : {"K2K_CLI", "K2K_SOURCE_DIR"}) {
    EXPECT_EQ(environment_complaint(ours, "/anything"), "") << ours;
  }
  EXPECT_EQ(environment_complaint("K2KOTHER", "1"), "");
}

// A program that sets everything itself still keeps the operator's cap.
TEST_F(ConfigTest, the_operators_settings_replace_the_programs) {
  ::setenv("K2K_SERVER_CAP_PERMILLE", "50", 1);
  ::setenv("K2K_CONFIG", "", 1);
  RuntimeConfig wanted;
  wanted.device.compute_units = 1;
  wanted.server.cap_permille = 900;
  wanted.server.spin_us = 7;
  wanted.control.socket = false;
  {
    const Result<Runtime> runtime = Runtime::create(wanted);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    EXPECT_EQ(runtime->server_config().cap_permille, 50u);
    EXPECT_EQ(runtime->server_config().spin_us, 7u)
        << "the program's setting counts if no other source sets it";
  }
  wanted.operator_settings = false;
  {
    const Result<Runtime> runtime = Runtime::create(wanted);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    EXPECT_EQ(runtime->server_config().cap_permille, 900u);
  }
  wanted.operator_settings = true;
  std::ofstream(path_) << "[server]\nspin_us = 11\n";
  ::setenv("K2K_CONFIG", path_.c_str(), 1);
  {
    const Result<Runtime> runtime = Runtime::create(wanted);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    EXPECT_EQ(runtime->server_config().spin_us, 11u);
  }
  ::setenv("K2K_SERVER_CAP_PERMILLE", "much", 1);
  const Result<Runtime> refused = Runtime::create(wanted);
  ::unsetenv("K2K_SERVER_CAP_PERMILLE");
  ::unsetenv("K2K_CONFIG");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EINVAL);
  EXPECT_NE(refused.error().message.find("environment K2K_SERVER_CAP_PERMILLE: "
                                         "server.cap_permille = 'much'; permitted: "),
            std::string::npos)
      << refused.error().message;
}

TEST_F(ConfigTest, the_result_of_load_config_is_complete) {
  EXPECT_FALSE(load_config({}).value().config.operator_settings);
}

// The sources and documents around the table: the variables and keys that they name.
class Sources : public SourcesTest {
 protected:
  // The texts of the files below a folder with these endings, one after another.
  std::string texts(const std::string& folder, const std::vector<std::string>& endings,
                    const std::string& without = "build") const {
    std::string all;
    std::filesystem::recursive_directory_iterator at(root_ / folder);
    for (; at != std::filesystem::recursive_directory_iterator(); ++at) {
      const std::string name = at->path().filename().string();
      if (at->is_directory() && (name == "build" || name == without || name.starts_with('.'))) {
        at.disable_recursion_pending();
      }
      const auto ends = [&](const std::string& ending) { return name.ends_with(ending); };
      if (!at->is_regular_file() || !std::ranges::any_of(endings, ends)) continue;
      std::ifstream file(at->path());
      all.append(std::istreambuf_iterator<char>(file), {}) += '\n';
    }
    return all;
  }
  static std::set<std::string> found(const std::string& text, const char* expression) {
    const std::regex one(expression);
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), one), end; at != end; ++at) {
      for (std::size_t group = 1; group < at->size(); ++group) {
        if ((*at)[group].matched) names.insert((*at)[group].str());
      }
    }
    return names;
  }
  static bool is_variable(const std::string& name) {
    const auto options = config_options();
    return std::ranges::find(other_variables(), name, &OtherVariable::name) !=
               other_variables().end() ||
           std::ranges::find(options, name, environment_name) != options.end();
  }
};

// Variables of the shim and of the Python package must not make `k2k` refuse its environment.
TEST_F(Sources, read_no_variable_that_is_not_in_the_table) {
  std::string all;
  for (const char* const folder : {"src", "shim", "python/k2k", "cli"}) {
    all += texts(folder, {".cpp", ".hpp", ".py"}, "tests");
  }
  const std::set<std::string> names = found(
      all,
      R"re((?:getenv|is_set|folder_of|variable|environment)\("(K2K_\w+)"|VARIABLE = "(K2K_\w+)"|"(K2K_\w+)=")re");
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names) {
    EXPECT_TRUE(is_variable(name)) << name;
    EXPECT_EQ(environment_complaint(name.c_str(), name == "K2K_BACKEND" ? "cpu" : "1"), "") << name;
  }
}

TEST_F(Sources, read_every_variable_of_the_table) {
  std::string all;
  for (const char* const folder : {"src", "shim", "python", "cli", "tests", "tools"}) {
    all += texts(folder, {".cpp", ".hpp", ".c", ".py"});
  }
  const std::string table = "config_options.cpp";
  std::ostringstream own;
  own << std::ifstream(root_ / "src/runtime/settings" / table).rdbuf();
  all.erase(all.find(own.str()), own.str().size());
  const std::set<std::string> names = found(all, R"re("(K2K_[A-Z0-9_]+)[="])re");
  std::set<std::string> composed;  // Composed from keys, so that no source spells them.
  for (const router::FilesKey& key : router::files_keys) {
    composed.insert(router::library_variable_of(key));
  }
  for (const OtherVariable& other : other_variables()) {
    EXPECT_TRUE(names.contains(other.name) || composed.contains(other.name))
        << other.name << " is in the table, and nothing reads it";
  }
}

// Other names that begin with K2K_ are macros.
TEST_F(Sources, documents_name_only_variables_and_keys_of_the_table) {
  std::string code;
  for (const char* const folder : {"src", "include", "cmake"}) {
    code += texts(folder, {".hpp", ".h", ".cmake"});
  }
  std::ostringstream options;  // The options of the build.
  options << std::ifstream(root_ / "CMakeLists.txt").rdbuf();
  code += options.str();
  const std::set<std::string> macros =
      found(code, R"re((?:#define |option\(|set\(|INTERFACE )(K2K_[A-Z0-9_]+))re");
  const std::string documents = texts(".", {".md"});
  const std::set<std::string> named = found(documents, R"re(\b(K2K_[A-Z][A-Z0-9_]*[A-Z0-9])\b)re");
  EXPECT_TRUE(named.contains("K2K_SERVER_CAP_PERMILLE"));
  for (const std::string& name : named) {
    EXPECT_TRUE(macros.contains(name) || is_variable(name))
        << name << " is named in a document, and the table of settings has no such variable";
  }
  const std::set<std::string> files = {"cpp", "hpp", "md", "so", "py", "h"};
  const std::set<std::string> statistics = {"control.cpu_seconds"};
  for (const std::string& key :
       found(documents, R"re([^\w./\[-]((?:device|server|files|control|metrics)\.[a-z_]+)\b)re")) {
    if (files.contains(key.substr(key.find('.') + 1)) || statistics.contains(key)) continue;
    EXPECT_NE(find_option(key), nullptr) << key << " is named in a document and is no setting";
  }
}

TEST_F(Sources, have_a_page_with_every_key_and_variable) {
  std::ostringstream page;
  page << std::ifstream(root_ / "docs/reference/settings.md").rdbuf();
  EXPECT_EQ(page.str(), settings_page()) << "run ./dev format";
}

TEST_F(ConfigTest, has_the_same_keys_of_files_as_libk2k_io) {
  for (const router::FilesKey& key : router::files_keys) {
    const ConfigOption* const option = find_option(key.key);
    ASSERT_EQ(option != nullptr, key.kernels) << key.key;
    if (option != nullptr) {
      EXPECT_EQ(environment_name(*option), router::variable_of(key));
    }
    EXPECT_NE(std::ranges::find(other_variables(), router::library_variable_of(key),
                                &OtherVariable::name),
              other_variables().end())
        << key.key;
  }
}

TEST_F(ConfigTest, refuses_wrong_and_unknown_flags) {
  ConfigInputs inputs;
  inputs.flags = {{"server.policy", "none", "flag --server-policy"}};
  EXPECT_EQ(
      load_config(inputs).error().message,
      "flag --server-policy: server.policy = 'none'; permitted: one of io, any, known_only, the "
      "path of a policy that ends with .toml, or its text of at most 4095 bytes");
  inputs.flags = {{"server.polcy", "any", "k2k_options_set"}};
  EXPECT_EQ(load_config(inputs).error().message,
            "k2k_options_set: unknown key 'server.polcy' = 'any'; did you mean 'server.policy'? "
            "'k2k config show' lists every key");
}

TEST(Nearest, counts_edits_and_swaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(nearest("dcotor", {"info", "doctor"}), "doctor");
  EXPECT_EQ(nearest("zzz", {"info", "doctor"}), "");
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_EQ(nearest("device.spin", {"device.seed", "device.spin_us"}), "device.spin_us");
}

}  // namespace
}  // namespace k2k
