// Prints device/wrappers.hpp from calls/rows.hpp. Run by ./dev format; ./dev check compares.

#include <cstdio>
#include <string>

#include "calls/rows.hpp"

namespace {

const char* name_of(k2k::calls::Role role) {
  switch (role) {
    case k2k::calls::Role::consumer:
      return "consumer";
    case k2k::calls::Role::producer:
      return "producer";
    case k2k::calls::Role::both:
      return "consumer and producer";
  }
  return "";
}

const char* name_of(k2k::calls::Blocking blocking) {
  switch (blocking) {
    case k2k::calls::Blocking::never:
      return "never blocks";
    case k2k::calls::Blocking::rarely:
      return "may wait for a disk";
    case k2k::calls::Blocking::waits:
      return "may wait for a peer";
  }
  return "";
}

void print_wrapper(const k2k::calls::Row& row) {
  std::string parameters;
  std::string arguments;
  for (int index = 0; index < k2k::calls::parameter_count(row); ++index) {
    const k2k::calls::Parameter& parameter = row.parameters[index];
    const std::string declaration = std::string(", ") + parameter.type + " " + parameter.name;
    const std::string fallback =
        parameter.fallback == nullptr ? "" : std::string(" = ") + parameter.fallback;
    parameters += declaration + fallback;
    arguments += std::string(", ") + parameter.name;
  }
  std::printf("\n// %s(%s): %s, %s.\n", row.name,
              row.family == k2k::calls::Family::own ? "k2k" : "2", name_of(row.role),
              name_of(row.blocking));
  std::printf("template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>\n");
  std::printf("K2K_DEVICE inline auto %s(Scope scope, Chosen options%s) {\n", row.name,
              parameters.c_str());
  std::printf("  return device::call<%u>(scope, options%s);\n}\n", row.number, arguments.c_str());
  std::printf("template <class Scope, class = device::IfScope<Scope>>\n");
  std::printf("K2K_DEVICE inline auto %s(Scope scope%s) {\n", row.name, parameters.c_str());
  std::printf("  return device::call<%u>(scope, strong%s);\n}\n", row.number, arguments.c_str());
}

}  // namespace

int main() {
  std::printf(
      "#pragma once\n"
      "// Generated from calls/rows.hpp by device/generate: do not edit, run ./dev format.\n"
      "//\n"
      "// Typed wrappers: POSIX names and argument order behind a scope and, if wanted, options.\n"
      "// Blocking and detached calls answer a Reply, async calls a Ticket.\n"
      "\n"
      "// clang-format off\n"
      "#include <cstddef>\n"
      "#include <cstdint>\n"
      "#include <type_traits>\n"
      "\n"
      "#include \"device/invoke.hpp\"\n"
      "\n"
      "namespace k2k {\n"
      "\n"
      "namespace device {\n"
      "template <class Scope>\n"
      "using IfScope = std::enable_if_t<IsScope<Scope>::value>;\n"
      "template <class Scope, class Chosen>\n"
      "using IfCall = std::enable_if_t<IsScope<Scope>::value && IsOptions<Chosen>::value>;\n"
      "}  // namespace device\n");
  for (const k2k::calls::Row& row : k2k::calls::rows) {
    if (row.number != k2k::calls::host_call_number) print_wrapper(row);  // device/host_call.hpp
  }
  std::printf("\n}  // namespace k2k\n");
}
