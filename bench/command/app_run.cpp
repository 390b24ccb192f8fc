#include "bench/command/app_run.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"

namespace k2k::bench {

namespace {

constexpr int app_limit_ms = 60'000;

std::string text_of_descriptor(int file) {
  std::string text;
  char piece[65536];
  ssize_t count = 0;
  while ((count = ::pread(file, piece, sizeof(piece), static_cast<off_t>(text.size()))) > 0) {
    text.append(piece, static_cast<std::size_t>(count));
  }
  return text;
}

// The exit status; -1 if a signal ended it. Kills the child if it takes too long.
Result<int> status_of(pid_t child, const std::string& program) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd ended{handle.number(), POLLIN, 0};
  const bool late = handle.open() && ::poll(&ended, 1, app_limit_ms) == 0;
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (late) return Error{ETIMEDOUT, program + " ran longer than 60 s"};
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

Result<AppRun> AppRun::find(const std::string& folder, const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path().parent_path() / "apps" / folder / ("k2k-" + name);
  if (error || ::access(program.c_str(), X_OK) != 0) {
    return Error{ENOENT, program.string() +
                             " is missing; it is built by ./dev build and not "
                             "installed: run this benchmark from the build tree"};
  }
  return AppRun(program.string());
}

Result<std::string> AppRun::output_of(std::vector<std::string> arguments) const {
  const Descriptor output(::memfd_create("k2k-bench-app", MFD_CLOEXEC));
  if (!output.open()) return Error{errno, std::string("no file in memory: ") + strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.number(), STDOUT_FILENO);
  arguments.insert(arguments.begin(), program_);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program_.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Error{error, program_ + " could not be run: " + std::strerror(error)};
  auto status = status_of(child, program_);
  if (!status) return status.error();
  std::string text = text_of_descriptor(output.number());
  if (*status != 0) {
    return Error{EIO, program_ + " ended with " + std::to_string(*status) +
                          " and printed: " + text.substr(0, 200)};
  }
  return text;
}

Status AppRun::run_plainly(std::vector<std::string> arguments) const {
  const auto output = output_of(std::move(arguments));
  return output ? Status{} : output.error();
}

Result<nlohmann::ordered_json> AppRun::run(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "--json");
  const auto text = output_of(std::move(arguments));
  if (!text) return text.error();
  nlohmann::ordered_json result = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (!result.is_object()) {
    return Error{EIO, program_ + " printed no JSON object: " + text->substr(0, 200)};
  }
  return result;
}

}  // namespace k2k::bench
