#pragma once
// Guests: sub-commands that are programs of their own. `k2k lab` executes k2k-lab with the same
// arguments.
//
// k2k searches beside itself, then in libexec/k2k, then on PATH. A guest has its command, and
// `man` and `help` for it (run() with its own list of commands). So the guest parses, explains and
// completes the arguments; k2k itself knows only a name and a summary.
//
// Threading: the main thread.

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace k2k::cli {

// Returns the path of k2k-NAME, or nullopt.
std::optional<std::string> find_guest(const std::string& name);

// Executes k2k-NAME in place of this process. Returns only if it is missing or cannot be
// executed: the exit status, after a message.
int become_guest(const Command& guest, const char* const* argv);

// The guest that these arguments name, as a command or as the topic of help or man; otherwise
// nullptr.
const Command* guest_of(const Context& context, int argc, const char* const* argv);

}  // namespace k2k::cli
