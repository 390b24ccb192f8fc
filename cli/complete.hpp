#pragma once
// k2k complete SHELL CURSOR WORD...: the completer behind the scripts of `k2k completion`. Hidden:
// no help and no manual names it.
//
// WORDs are the command line as the shell splits it, from the program's name on. Completes the word
// with number CURSOR: prints one candidate per line. If it prints none, the word may be a file, and
// the shell completes that itself.
//
// Threading: the main thread.

#include "cli/command.hpp"

namespace k2k::cli {

bool is_complete(int argc, const char* const* argv);
// Returns the exit status. A command that is a program of its own (guest.hpp) is completed by it.
int complete(const Context& context, int argc, const char* const* argv);

}  // namespace k2k::cli
