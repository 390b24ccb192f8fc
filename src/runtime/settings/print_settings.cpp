// Prints docs/reference/settings.md. Run by ./dev format; ./dev check compares.

#include <cstdio>

#include "runtime/settings/config_options.hpp"

int main() { return std::fputs(k2k::settings_page().c_str(), stdout) < 0 ? 1 : 0; }
