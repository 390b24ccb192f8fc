#include "runtime/settings/config.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "runtime/settings/config_file.hpp"
#include "runtime/settings/nearest.hpp"
#include "runtime/settings/shortened.hpp"

extern char** environ;

namespace k2k {

namespace {

std::string lookup(const ConfigInputs& inputs, std::string_view name) {
  for (const auto& [variable, value] : inputs.environment) {
    if (variable == name) return value;
  }
  return "";
}

bool has(const ConfigInputs& inputs, std::string_view name) {
  return std::any_of(inputs.environment.begin(), inputs.environment.end(),
                     [&](const auto& variable) { return variable.first == name; });
}

// " Did you mean 'x'?", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : fmt::format(" did you mean '{}'?", near);
}

Error unknown_key(std::string_view place, std::string_view key, std::string_view value) {
  std::vector<std::string> known;
  for (const ConfigOption& option : config_options()) known.emplace_back(option.key);
  return {EINVAL, fmt::format("{}: unknown key '{}' = {};{} 'k2k config show' lists every key",
                              place, shortened(key), shortened(value), did_you_mean(key, known))};
}

Error wrong_value(std::string_view place, const ConfigOption& option, std::string_view value,
                  std::string_view why = "") {
  return {EINVAL, fmt::format("{}: {} = {}{}; permitted: {}", place, option.key, shortened(value),
                              why, permitted(option))};
}

// The configuration as it grows, weakest source first.
class Loader {
 public:
  explicit Loader(const RuntimeConfig& config = {}) {
    values_.config = config;
    values_.config.operator_settings = false;
    for (const ConfigOption& option : config_options()) {
      settings_.push_back({option.key, option.show(values_, option), "default"});
    }
  }

  // `place` is where a message points, `shown` the value as it stood there.
  Status set(const ConfigOption& option, std::string_view text, std::string_view shown,
             const std::string& place, const std::string& origin) {
    const Result<OptionValue> value = parse_value(option, text);
    if (!value) return wrong_value(place, option, shown);
    option.store(values_, value.value());
    Setting& setting = settings_[static_cast<std::size_t>(&option - config_options().data())];
    setting.value = option.show(values_, option);
    setting.origin = origin;
    return {};
  }

  LoadedConfig finish() && { return {std::move(values_.config), "", false, std::move(settings_)}; }

 private:
  ConfigValues values_;
  std::vector<Setting> settings_;
};

// --- file --------------------------------------------------------------------------------------

bool fits(OptionKind kind, FileType type) {
  switch (kind) {
    case OptionKind::number:
      return type == FileType::integer;
    case OptionKind::share:
      return type == FileType::string || type == FileType::integer;
    case OptionKind::boolean:
      return type == FileType::boolean;
    case OptionKind::choice:
    case OptionKind::policy:
      return type == FileType::string || type == FileType::integer;
    case OptionKind::cores:
      return type == FileType::string || type == FileType::integers;
    case OptionKind::text:
      return type == FileType::string;
  }
  return false;
}

// The parts of keys before the dot: "device", "server", ...
std::vector<std::string> sections() {
  std::vector<std::string> names;
  for (const ConfigOption& option : config_options()) {
    const std::string_view key = option.key;
    const std::size_t dot = key.find('.');
    if (dot == std::string_view::npos) continue;
    if (names.empty() || names.back() != key.substr(0, dot)) names.emplace_back(key.substr(0, dot));
  }
  return names;
}

Status apply_entry(Loader& loader, const FileEntry& entry, const std::string& path) {
  const std::string place = fmt::format("{}:{}", path, entry.line);
  const ConfigOption* option = find_option(entry.key);
  if (option == nullptr && entry.type == FileType::section) {
    const std::vector<std::string> known = sections();
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) return {};
    return Error{EINVAL, fmt::format("{}: unknown section '{}';{} permitted: {}", place,
                                     shortened(entry.key), did_you_mean(entry.key, known),
                                     fmt::join(known, ", "))};
  }
  if (option == nullptr) return unknown_key(place, entry.key, entry.shown);
  if (!fits(option->kind, entry.type)) {
    return wrong_value(place, *option, entry.shown, " has the wrong type");
  }
  return loader.set(*option, entry.text, entry.shown, place, "file " + place);
}

Status apply_file(Loader& loader, const std::string& path) {
  const Result<std::vector<FileEntry>> entries = read_config_file(path);
  if (!entries) return entries.error();
  for (const FileEntry& entry : entries.value()) {
    if (Status status = apply_entry(loader, entry, path); !status) return status;
  }
  return {};
}

// --- environment and flags ---------------------------------------------------------------------

Status apply_environment(Loader& loader, const ConfigInputs& inputs) {
  std::vector<std::string> known;
  for (const OtherVariable& other : other_variables()) {
    if (other.is_documented()) known.emplace_back(other.name);
  }
  for (const ConfigOption& option : config_options()) known.push_back(environment_name(option));
  for (const auto& [name, value] : inputs.environment) {
    if (!std::string_view(name).starts_with("K2K_")) continue;
    const auto options = config_options();
    const auto option = std::find_if(options.begin(), options.end(), [&](const auto& row) {
      return environment_name(row) == name;
    });
    const std::string origin = "environment " + name;
    if (option != options.end()) {
      Status status = loader.set(*option, value, fmt::format("'{}'", value), origin, origin);
      if (!status) return status;
    } else if (std::ranges::find(other_variables(), name, &OtherVariable::name) ==
               other_variables().end()) {
      return Error{EINVAL,
                   fmt::format("environment {} = '{}': unknown variable;{} unset it, or "
                               "see 'k2k help config'",
                               shortened(name), shortened(value), did_you_mean(name, known))};
    }
  }
  return {};
}

Status apply_flags(Loader& loader, const ConfigInputs& inputs) {
  for (const Assignment& flag : inputs.flags) {
    const ConfigOption* option = find_option(flag.key);
    const std::string value = fmt::format("'{}'", flag.value);
    if (option == nullptr) return unknown_key(flag.origin, flag.key, value);
    Status status = loader.set(*option, flag.value, value, flag.origin, flag.origin);
    if (!status) return status;
  }
  return {};
}

// Loads the inputs' settings over `config`.
Result<LoadedConfig> loaded_over(const RuntimeConfig& config, const ConfigInputs& inputs) {
  Loader loader(config);
  const std::string path = config_path(inputs);
  const bool named = inputs.file.has_value() || has(inputs, "K2K_CONFIG");
  struct stat status{};
  const bool missing =
      !path.empty() && ::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
  const bool reads = !path.empty() && (named || !missing);
  if (reads) {
    if (Status applied = apply_file(loader, path); !applied) return applied.error();
  }
  if (Status applied = apply_environment(loader, inputs); !applied) return applied.error();
  if (Status applied = apply_flags(loader, inputs); !applied) return applied.error();
  LoadedConfig loaded = std::move(loader).finish();
  loaded.path = path;
  loaded.file_read = reads;
  return loaded;
}

}  // namespace

ConfigInputs process_inputs() {
  ConfigInputs inputs;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    inputs.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return inputs;
}

std::string config_path(const ConfigInputs& inputs) {
  if (inputs.file) return *inputs.file;
  if (has(inputs, "K2K_CONFIG")) return lookup(inputs, "K2K_CONFIG");
  // The base directory specification: a relative path there is to be ignored.
  const std::string base = lookup(inputs, "XDG_CONFIG_HOME");
  if (base.starts_with('/')) return base + "/k2k/config.toml";
  const std::string home = lookup(inputs, "HOME");
  return home.empty() ? "" : home + "/.config/k2k/config.toml";
}

Result<LoadedConfig> load_config(const ConfigInputs& inputs) { return loaded_over({}, inputs); }

Status apply_operator_settings(RuntimeConfig& config, const ConfigInputs& inputs) {
  Result<LoadedConfig> loaded = loaded_over(config, inputs);
  if (!loaded) return loaded.error();
  config = std::move(loaded->config);
  return {};
}

}  // namespace k2k
