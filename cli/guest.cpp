#include "cli/guest.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "cli/arguments.hpp"

namespace k2k::cli {

namespace {

std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> all;
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (!error) all = {own, own / K2K_LIBEXEC};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    // Folders that depend on the working directory are skipped.
    if (folder.starts_with('/')) all.emplace_back(folder);
  }
  return all;
}

}  // namespace

std::optional<std::string> find_guest(const std::string& name) {
  for (const auto& folder : folders()) {
    const std::filesystem::path program = folder / ("k2k-" + name);
    std::error_code error;
    if (std::filesystem::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0) {
      return program.string();
    }
  }
  return std::nullopt;
}

int become_guest(const Command& guest, const char* const* argv) {
  const auto program = find_guest(guest.name);
  if (!program) {
    return complain(
        fmt::format("'k2k {}' is a program of its own, k2k-{}, and it is not installed; "
                    "it is in the package {}",
                    guest.name, guest.name, guest.guest_of_package));
  }
  ::execv(program->c_str(), const_cast<char* const*>(argv));
  return complain(fmt::format("cannot run {}: {}", *program, std::strerror(errno)));
}

const Command* guest_of(const Context& context, int argc, const char* const* argv) {
  const std::vector<std::string> words = leading_words(outline_of(context), argc, argv, 2);
  if (words.empty()) return nullptr;
  std::string wanted = words[0];
  if (words.size() > 1 && (wanted == "help" || wanted == "man")) {
    wanted = words[1];
    if (wanted.ends_with(".1")) wanted.resize(wanted.size() - 2);
    if (wanted.starts_with("k2k-")) wanted.erase(0, 4);
  }
  for (const Command& command : *context.commands) {
    if (command.is_guest() && command.name == wanted) return &command;
  }
  return nullptr;
}

}  // namespace k2k::cli
