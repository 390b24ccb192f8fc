#include "cli/outline_json.hpp"

#include <nlohmann/json.hpp>

namespace k2k::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptionOutline, short_names, long_names, operand, help, type,
                                   in_help, takes_value, may_take_value, required, many, words,
                                   word_command)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommandOutline, name, help, options, commands)

std::string to_json_text(const CommandOutline& outline) {
  return nlohmann::json(outline).dump() + "\n";
}

std::optional<CommandOutline> outline_from(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<CommandOutline>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace k2k::cli
