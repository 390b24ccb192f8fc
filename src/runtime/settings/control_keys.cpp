#include "runtime/settings/control_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "runtime/settings/config_options.hpp"
#include "runtime/settings/nearest.hpp"

namespace k2k {

namespace {

constexpr std::size_t shown_bytes_max = 100;
constexpr const char* nothing_changed = "; nothing was changed";

const ControlKey keys[] = {
    {"cap", "server.cap_permille", true, "a percentage such as 5% or 0.5%, or off"},
    {"governor", "server.governor", false, ""},
    {"loss_max", "server.loss_max_permille", true, "a percentage such as 5%"},
    {"tenants", "server.tenants", false, ""},
    {"steering", "server.steering", false, ""},
    {"cores", "server.cores", false, ""},
    {"top_halves", "server.top_halves", false, ""},
    {"coalescing", "server.coalescing", false, ""},
    {"coalesce_window_us", "server.coalesce_window_us", false, ""},
    {"coalesce_max", "server.coalesce_max", false, ""},
    {"coalesce_delay_us", "server.coalesce_delay_us", false, ""},
    {"bottom_half", "server.bottom_half", false, ""},
};

const ConfigOption& option_of(const ControlKey& key) {
  const ConfigOption* const option = find_option(key.option);
  K2K_EXPECT(option != nullptr);
  return *option;
}

bool may_be_off(const ControlKey& key) { return option_of(key).least == 0; }

// In thousandths, the unit written behind. Nothing where it is not that: 0% might mean no cap, or
// nothing at all.
std::optional<std::uint64_t> share_of(const ControlKey& key, std::string_view text) {
  if (text == "off" && may_be_off(key)) return 0;
  const std::optional<std::uint64_t> permille = permille_of(text);
  return permille == 0 ? std::nullopt : permille;
}

std::string permitted_value(const ControlKey& key) {
  if (!key.percent) return permitted(option_of(key));
  return fmt::format("{}, from 0.1% to 100% in steps of 0.1%", key.help);
}

Error unknown(std::string_view name) {
  std::vector<std::string> known;
  for (const ControlKey& key : keys) known.emplace_back(key.name);
  const std::string near = nearest(name, known);
  const std::string meant = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return {EINVAL,
          fmt::format("unknown key '{}'{}; permitted: {}{}", name.substr(0, shown_bytes_max), meant,
                      fmt::join(known, ", "), nothing_changed)};
}

Status set_one(const std::string& name, const std::string& text, ConfigValues& values) {
  const auto* const key = std::find_if(std::begin(keys), std::end(keys),
                                       [&](const ControlKey& one) { return one.name == name; });
  if (key == std::end(keys)) return unknown(name);
  const ConfigOption& option = option_of(*key);
  const Error wrong{EINVAL,
                    fmt::format("{} = '{}'; permitted: {}{}", name, text.substr(0, shown_bytes_max),
                                permitted_value(*key), nothing_changed)};
  std::string as_option = text;
  if (key->percent) {
    const std::optional<std::uint64_t> permille = share_of(*key, text);
    if (!permille) return wrong;
    as_option = std::to_string(*permille);
  }
  const Result<OptionValue> value = parse_value(option, as_option);
  if (!value) return wrong;
  option.store(values, value.value());
  return {};
}

}  // namespace

std::span<const ControlKey> control_keys() { return keys; }

std::vector<std::string> control_words() {
  std::vector<std::string> words;
  for (const ControlKey& key : keys) {
    const ConfigOption& option = option_of(key);
    if (option.kind != OptionKind::choice) {
      words.push_back(fmt::format("{}=", key.name));
      continue;
    }
    std::string_view left = option.words;
    while (true) {
      const std::size_t end = left.find('|');
      words.push_back(fmt::format("{}={}", key.name, left.substr(0, end)));
      if (end == std::string_view::npos) break;
      left.remove_prefix(end + 1);
    }
  }
  return words;
}

std::string show_key(const ControlKey& key, const server::ServerConfig& config) {
  const ConfigOption& option = option_of(key);
  ConfigValues values;
  values.config.server = config;
  return option.show(values, option);
}

Status set_keys(std::span<const std::pair<std::string, std::string>> values,
                server::ServerConfig& config) {
  ConfigValues changed;
  changed.config.server = config;
  for (const auto& [name, text] : values) {
    if (Status status = set_one(name, text, changed); !status) return status;
  }
  config = changed.config.server;
  return {};
}

}  // namespace k2k
