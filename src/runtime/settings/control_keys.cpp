#include "runtime/settings/control_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "runtime/settings/nearest.hpp"
#include "runtime/settings/shortened.hpp"

namespace k2k {

namespace {

constexpr const char* nothing_changed = "; nothing was changed";

// "server.cap_permille" is "cap": its unit is written, not named.
std::string name_of(const ConfigOption& option) {
  std::string_view name = option.key;
  name.remove_prefix(name.find('.') + 1);
  if (option.kind == OptionKind::share) name.remove_suffix(std::string_view("_permille").size());
  return std::string(name);
}

bool is_share(const ControlKey& key) { return key.option->kind == OptionKind::share; }
bool may_be_off(const ControlKey& key) { return key.option->least == 0; }

// A share in thousandths; the text must contain its unit. Empty for other texts: 0% could mean no
// cap, or no CPU time at all.
std::optional<std::uint64_t> share_of(const ControlKey& key, std::string_view text) {
  if (text == "off" && may_be_off(key)) return 0;
  const std::optional<std::uint64_t> permille = permille_of(text);
  return permille == 0 ? std::nullopt : permille;
}

std::string permitted_value(const ControlKey& key) {
  if (!is_share(key)) return permitted(*key.option);
  return fmt::format("a percentage such as 5%{}, from 0.1% to 100% in steps of 0.1%",
                     may_be_off(key) ? " or 0.5%, or off" : "");
}

Error unknown(std::string_view name) {
  std::vector<std::string> known;
  for (const ControlKey& key : control_keys()) known.push_back(key.name);
  const std::string near = nearest(name, known);
  const std::string meant = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return {EINVAL, fmt::format("unknown key '{}'{}; permitted: {}{}", shortened(name), meant,
                              fmt::join(known, ", "), nothing_changed)};
}

Status set_one(const std::string& name, const std::string& text, ConfigValues& values) {
  const auto keys = control_keys();
  const auto key = std::ranges::find(keys, name, &ControlKey::name);
  if (key == keys.end()) return unknown(name);
  const ConfigOption& option = *key->option;
  const Error wrong{EINVAL, fmt::format("{} = '{}'; permitted: {}{}", name, shortened(text),
                                        permitted_value(*key), nothing_changed)};
  std::string as_option = text;
  if (is_share(*key)) {
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

std::span<const ControlKey> control_keys() {
  // Never destroyed: a runtime may outlive static objects.
  static const auto& keys = *new const std::vector<ControlKey>([] {
    std::vector<ControlKey> made;
    for (const ConfigOption& option : config_options()) {
      if (option.changes_while_running) made.push_back({name_of(option), &option});
    }
    return made;
  }());
  return keys;
}

std::vector<std::string> control_words() {
  std::vector<std::string> words;
  for (const ControlKey& key : control_keys()) {
    const ConfigOption& option = *key.option;
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
  ConfigValues values;
  values.config.server = config;
  return key.option->show(values, *key.option);
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
