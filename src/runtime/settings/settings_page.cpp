// The settings' table as Markdown: docs/reference/settings.md.

#include <fmt/format.h>

#include "runtime/settings/control_keys.hpp"

namespace k2k {

namespace {

constexpr const char* head = R"(# Settings

Sources, the strongest first: a flag of `k2k` before or after the command, an environment variable, the configuration file, the program's own
values, the default. The flag of a variable is its name without `K2K`, in small letters with dashes: `K2K_SERVER_SPIN_US` and `--server-spin-us`.
The file is TOML, and `k2k config path` names it:

```toml
[server]
cap_permille = "5%"
```

`k2k config show` lists each setting with its value and source. `k2k ctl PID KEY=VALUE` changes the settings that have a key of `k2k ctl`, while the
process serves. `./dev format` prints this page from the table in `src/runtime/settings/config_options.cpp`.

| setting | variable | key of `k2k ctl` | default | permitted | meaning |
|---|---|---|---|---|---|
)";

constexpr const char* others_head = R"(
Variables that are not settings:

| variable | meaning |
|---|---|
)";

// A cell may hold no bar.
std::string cell(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '|') out += '\\';
    out += letter;
  }
  return out;
}

std::string control_name(const ConfigOption& option) {
  for (const ControlKey& key : control_keys()) {
    if (key.option == &option) return "`" + key.name + "`";
  }
  return "";
}

}  // namespace

std::string settings_page() {
  std::string page = head;
  for (const ConfigOption& option : config_options()) {
    const std::string value = option.show(ConfigValues{}, option);
    page +=
        fmt::format("| `{}` | `{}` | {} | {} | {} | {} |\n", option.key, environment_name(option),
                    control_name(option), value.empty() ? "empty" : "`" + value + "`",
                    cell(permitted(option)), cell(option.help));
  }
  page += others_head;
  for (const OtherVariable& other : other_variables()) {
    if (other.is_documented()) page += fmt::format("| `{}` | {} |\n", other.name, cell(other.help));
  }
  return page;
}

}  // namespace k2k
