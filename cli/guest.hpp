#pragma once
// Sub-commands that are programs of their own: `k2k lab` is k2k-lab with the same arguments.
//
// Looked for beside k2k, then in libexec/k2k, then on PATH. Such a program has its command and
// `man` and `help` for it (run() with a list of its own), so that it parses, explains and completes
// what k2k hands on: k2k itself knows a name and a summary.
//
// Threading: the main thread.

#include <optional>
#include <string>

#include "cli/command.hpp"

namespace k2k::cli {

// The path of k2k-NAME; nothing if there is none.
std::optional<std::string> find_guest(const std::string& name);

// Becomes that program. Returns only where there is none, or it cannot be run: the exit status,
// after a message.
int become_guest(const std::string& name, const char* const* argv);

// The command of these arguments, or the one that help or the manual is wanted of, if it is a
// program of its own; else nullptr.
const Command* guest_of(const Context& context, int argc, const char* const* argv);

}  // namespace k2k::cli
