// How much does a grep gain if its kernel makes all system calls? (thesis, section 3.8.3, figure
// 3.13 a)
//
// Five programs name the files below a tree that contain one of 64 words, each as a process of its
// own, measured from start to end: GNU grep, an OpenMP grep (bench/peers) that shares k2k grep's
// matcher, and k2k grep by work-group, by work-item polling, and by work-item halting; the kernels
// do not wait for writes. Each runs once from the page cache, and once after the tree's pages were
// dropped (names and inodes stay). They take turns, and all must print the same names.
//
// The thesis names neither its files nor its words; ours are those of ./dev demo.
// Budget: the thesis' 2.0 to 2.3 x OpenMP, work-item halting 3 to 4 % before the other two. On the
// cpu backend, device and host are the same cores: the only possible gain is the time that programs
// spend waiting.

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/file_tree.hpp"
#include "bench/command/word_file.hpp"

namespace k2k::bench {

namespace {

constexpr char full_tree[] = "/usr/include";
constexpr char brief_tree[] = "/usr/include/linux";
constexpr int run_limit_ms = 60'000;
constexpr int exit_trouble = 2;  // Of every grep: 0: names, 1: none.

struct Program {
  std::string name;
  std::vector<std::string> command;
  Samples warm_ms{};
  Samples cold_ms{};
};

std::string failed(const std::string& what) { return what + ": " + std::strerror(errno); }

// Returns the child's exit status; kills the child if it takes too long.
Result<int> wait_for(pid_t child, const std::string& name) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd ended{handle.number(), POLLIN, 0};
  const bool late = handle.open() && ::poll(&ended, 1, run_limit_ms) == 0;
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (late) return Error{ETIMEDOUT, name + " ran longer than 60 s"};
  if (!WIFEXITED(status)) return Error{EIO, name + " was ended by a signal"};
  return WEXITSTATUS(status);
}

struct Output {
  double ms = 0;
  std::vector<std::string> names;  // Sorted.
};

std::vector<std::string> sorted_lines(int file) {
  std::string text;
  char piece[65536];
  ssize_t count = 0;
  while ((count = ::pread(file, piece, sizeof(piece), static_cast<off_t>(text.size()))) > 0) {
    text.append(piece, static_cast<std::size_t>(count));
  }
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// This process' environment with LC_ALL=C.
std::vector<std::string> plain_environment() {
  std::vector<std::string> variables = {"LC_ALL=C"};
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "LC_ALL=", 7) != 0) variables.emplace_back(*each);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& string : strings) all.push_back(string.data());
  all.push_back(nullptr);
  return all;
}

Result<Output> run(Program& program) {
  const Descriptor output(::memfd_create("k2k-bench-names", MFD_CLOEXEC));
  // Appending: of two threads that write at the file's position, one would overwrite the other's
  // line, because a file of memfd_create() has no lock for its position.
  if (!output.open() || ::fcntl(output.number(), F_SETFL, O_APPEND) != 0) {
    return Error{errno, failed("no file in memory")};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.number(), STDOUT_FILENO);
  std::vector<std::string> variables = plain_environment();
  const std::vector<char*> environment = pointers(variables);
  const std::vector<char*> arguments = pointers(program.command);
  pid_t child = 0;
  const Instant begin = now();
  const int error =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Error{error, program.command[0] + " could not be run: " + std::strerror(error)};
  }
  auto status = wait_for(child, program.name);
  const double ms = static_cast<double>((now() - begin).count()) / 1e6;
  if (!status) return status.error();
  if (status.value() >= exit_trouble) {
    return Error{EIO, program.name + " ended with " + std::to_string(status.value())};
  }
  return Output{ms, sorted_lines(output.number())};
}

// The build puts bench/peers beside k2k; an installed tree has none.
std::optional<std::string> openmp_grep() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto peer = self.parent_path().parent_path() / "bench/openmp_grep";
  if (error || ::access(peer.c_str(), X_OK) != 0) return std::nullopt;
  return peer.string();
}

std::vector<Program> programs(const std::string& words, const char* top) {
  std::vector<Program> all;
  all.push_back({"GNU grep", {"grep", "-r", "-F", "-l", "-f", words, top}});
  if (const auto peer = openmp_grep()) {
    all.push_back({"OpenMP grep", {*peer, words, top}});
  }
  const auto ours = [&](const char* name, const char* granularity, const char* wait) {
    all.push_back({name,
                   {"/proc/self/exe", "grep", "-F", "-l", "-f", words, "--granularity", granularity,
                    "--wait", wait, "--no-wait", "--progress", "never", top}});
  };
  ours("work-group", "work-group", "polling");
  ours("work-item polling", "work-item", "polling");
  ours("work-item halting", "work-item", "halting");
  return all;
}

Status run_all(std::vector<Program>& all, const FileTree& tree, bool cold, Output& first) {
  for (Program& program : all) {
    if (cold) tree.drop_pages();
    auto output = run(program);
    if (!output) return output.error();
    if (first.names.empty()) first.names = output->names;
    if (output->names != first.names || first.names.empty()) {
      return Error{EIO, program.name + " names " + std::to_string(output->names.size()) +
                            " files, not the " + std::to_string(first.names.size()) + " of " +
                            all.front().name};
    }
    (cold ? program.cold_ms : program.warm_ms).add(output->ms);
  }
  return {};
}

nlohmann::ordered_json table_of(const std::vector<Program>& all) {
  const auto openmp = std::find_if(all.begin(), all.end(),
                                   [](const Program& each) { return each.name == "OpenMP grep"; });
  // OpenMP's time / this program's time: above 1 is faster than OpenMP.
  const auto speed = [&](const Samples Program::* samples, const Program& program) {
    nlohmann::ordered_json value;
    if (openmp != all.end()) {
      value = rounded(((*openmp).*samples).median() / (program.*samples).median());
    }
    return value;
  };
  nlohmann::ordered_json table;
  for (const Program& program : all) {
    table.push_back({{"program", program.name},
                     {"warm_ms", rounded(program.warm_ms.median())},
                     {"warm_sd_ms", rounded(program.warm_ms.deviation())},
                     {"warm_speed", speed(&Program::warm_ms, program)},
                     {"cold_ms", rounded(program.cold_ms.median())},
                     {"cold_sd_ms", rounded(program.cold_ms.deviation())},
                     {"cold_speed", speed(&Program::cold_ms, program)}});
  }
  return table;
}

}  // namespace

Result<nlohmann::ordered_json> grep_peers(const RuntimeConfig&, Effort effort) {
  const FileTree tree(effort == Effort::brief ? brief_tree : full_tree);
  if (tree.files() == 0) {
    return Error{ENOENT, std::string("no file below ") + tree.top() +
                             "; install some: apt-get install libc6-dev linux-libc-dev"};
  }
  const WordFile words;
  if (!words.ok()) return Error{errno, failed("no file for the words")};
  std::vector<Program> all = programs(words.path(), tree.top());
  Output first;
  tree.drop_pages();
  const double resident = tree.resident_share();
  for (Rounds rounds = effort == Effort::brief ? Rounds("grep", 1, 1, 0)
                                               : Rounds("grep", 3, 10, 38);
       rounds.next();) {
    // A grep stops reading a file at its first word, so a cold run does not bring all pages back.
    tree.read_pages();
    for (const bool cold : {false, false, false, true}) {
      if (Status status = run_all(all, tree, cold, first); !status) return status.error();
    }
  }
  nlohmann::ordered_json result;
  result["tree"] = tree.top();
  result["files"] = tree.files();
  result["bytes"] = tree.bytes();
  result["matches"] = first.names.size();
  result["names_identical"] = true;  // run_all() fails otherwise.
  result["warm_runs"] = all.front().warm_ms.size();
  result["runs"] = all.front().cold_ms.size();
  result["resident_after_drop"] = rounded(resident);
  result["programs"] = table_of(all);
  return result;
}

}  // namespace k2k::bench
