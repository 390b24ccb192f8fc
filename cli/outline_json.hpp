#pragma once
// The outline of a command as JSON, by which k2k completes a command that is another program.
//
// Threading: pure functions.

#include <optional>
#include <string>

#include "cli/command_line.hpp"

namespace k2k::cli {

std::string to_json_text(const CommandOutline& outline);
// Nothing where it is none.
std::optional<CommandOutline> outline_from(const std::string& text);

}  // namespace k2k::cli
