#include "labs/interference/harm/victims.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/harm/loops.hpp"
#include "labs/interference/harm/schedstat.hpp"

namespace k2k::labs::harm {

namespace {

using namespace std::chrono_literals;

constexpr auto look_period = 10ms;
constexpr std::uint64_t rounds_first = 64;
constexpr std::uint64_t rounds_max = 1u << 30;

// The path of a program, as execvp(3) finds it; "" if there is none.
std::string path_of(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return ::access(program.c_str(), F_OK) == 0 ? program : "";
  }
  const char* const list = std::getenv("PATH");
  std::istringstream folders(list == nullptr ? "/usr/bin:/bin" : list);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + program;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::string substituted(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what)) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Between fork and exec, or for a loop instead of exec: the child's surroundings.
void prepare_child(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);  // Ctrl-C reaches the laboratory alone, which ends the child.
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) ::dup2(null, standard);
}

struct VictimMessage {
  LoopReport report;
  int error = 0;
  std::array<char, 256> text{};
};

[[noreturn]] void be_loop(const Victim& victim, unsigned threads, int pipe) {
  const Result<LoopReport> report = run_loop(*find_loop(victim.loop), victim.rounds, threads);
  VictimMessage message;
  if (report) {
    message.report = report.value();
  } else {
    message.error = report.error().code;
    std::strncpy(message.text.data(), report.error().message.c_str(), message.text.size() - 1);
  }
  const ssize_t sent = ::write(pipe, &message, sizeof(message));
  ::_exit(sent == sizeof(message) ? 0 : 1);
}

[[noreturn]] void be_program(const std::vector<std::string>& command, int pipe) {
  std::vector<char*> arguments;
  for (const std::string& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  VictimMessage message;
  message.error = errno;
  const ssize_t sent = ::write(pipe, &message, sizeof(message));
  ::_exit(sent == sizeof(message) ? 127 : 126);
}

// The schedstat of a process' threads: of each the last value that was seen.
class Tasks {
 public:
  explicit Tasks(pid_t process) : folder_(fmt::format("/proc/{}/task", process)) {}

  // Errors: of the first look. Threads that end meanwhile are no error.
  Status look() {
    std::error_code error;
    std::filesystem::directory_iterator list(folder_, error);
    if (error) return Error{error.value(), fmt::format("{}: {}", folder_, error.message())};
    for (const auto end = std::filesystem::directory_iterator(); list != end;
         list.increment(error)) {
      const Result<Schedstat> seen = read_schedstat(list->path().string() + "/schedstat");
      if (seen) last_[list->path().filename().string()] = seen.value();
      if (!seen && last_.empty()) return seen.error();
      if (error) break;
    }
    return {};
  }
  [[nodiscard]] double run_delay_s() const {
    double sum = 0;
    for (const auto& [thread, seen] : last_) sum += seen.run_delay_s;
    return sum;
  }

 private:
  std::string folder_;
  std::map<std::string, Schedstat> last_;
};

Error failed(const Victim& victim, int status) {
  if (WIFSIGNALED(status)) {
    return {ECHILD, fmt::format("{} crashed: signal {} ({})", victim.name, WTERMSIG(status),
                                ::strsignal(WTERMSIG(status)))};
  }
  return {ECHILD, fmt::format("{} failed: exit status {}", victim.name, WEXITSTATUS(status))};
}

}  // namespace

std::string Victim::missing() const {
  if (!loop.empty()) return "";
  if (path_of(command.front()).empty()) {
    return package.empty()
               ? fmt::format("there is no program '{}'", command.front())
               : fmt::format("'{}' is not installed: apt install {}", command.front(), package);
  }
  if (package != "python3-numpy") return "";
  const bool has = std::system("/usr/bin/python3 -c 'import numpy' > /dev/null 2>&1") == 0;
  return has ? "" : "Python has no module numpy: apt install python3-numpy";
}

std::vector<Victim> all_victims(const std::string& input, unsigned threads) {
  std::vector<Victim> all;
  for (const Loop& loop : loops()) {
    all.push_back({.name = loop.name,
                   .description = loop.description,
                   .loop = loop.name,
                   .one_thread = loop.one_thread});
  }
  const auto add = [&](const char* name, const char* description, const char* package,
                       std::vector<std::string> command, bool one_thread) {
    for (std::string& word : command) {
      word = substituted(substituted(word, "{input}", input), "{threads}", std::to_string(threads));
    }
    all.push_back({.name = name,
                   .description = description,
                   .command = std::move(command),
                   .package = package,
                   .one_thread = one_thread});
  };
  add("openssl", "hashes a file", "openssl",
      {"openssl", "dgst", "-sha512", "{input}", "{input}", "{input}", "{input}"}, true);
  add("zstd", "compresses a file", "zstd",
      {"zstd", "-q", "-f", "-3", "-T{threads}", "-o", "/dev/null", "{input}"}, false);
  add("xz", "compresses a file", "xz-utils",
      {"xz", "-q", "-k", "-c", "-0", "-T{threads}", "--block-size=262144", "{input}"}, false);
  add("7z", "compresses a file", "p7zip-full",
      {"7z", "a", "-bd", "-mx1", "-mmt{threads}", "-so", "-txz", "-an", "{input}"}, false);
  add("sqlite", "sums a table that a query computes", "sqlite3",
      {"sqlite3", ":memory:",
       "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 600000) "
       "SELECT sum(x*x % 7) FROM c;"},
      true);
  add("python", "counts words of a file", "python3",
      {"/usr/bin/python3", "-I", "-c",
       "import collections, sys; d = open(sys.argv[1], 'rb').read(); "
       "print(len(collections.Counter(d[i:i + 4] for i in range(0, len(d) // 4, 4))))",
       "{input}"},
      true);
  add("numpy", "multiplies matrices", "python3-numpy",
      {"/usr/bin/python3", "-I", "-c",
       "import numpy as n; a = n.random.default_rng(1).random((500, 500)); "
       "[a @ a for _ in range(20)]"},
      false);
  add("x264", "encodes a video", "x264",
      {"x264", "--quiet", "--preset", "fast", "--threads", "{threads}", "--demuxer", "raw",
       "--input-res", "320x240", "--fps", "25", "-o", "/dev/null", "{input}"},
      false);
  add("povray", "renders a picture", "povray",
      {"povray", "-D", "+W160", "+H120", "+WT{threads}", "+O/dev/null",
       "+I/usr/share/doc/povray/examples/advanced/abyss.pov"},
      false);
  return all;
}

Result<Victim> victim_of(const std::string& text) {
  const std::size_t equal = text.find('=');
  Victim victim;
  if (equal != std::string::npos) {
    victim.name = text.substr(0, equal);
    std::istringstream words(text.substr(equal + 1));
    for (std::string word; words >> word;) victim.command.push_back(word);
  }
  const auto plain = [](char letter) {
    return (std::isalnum(static_cast<unsigned char>(letter)) != 0) || letter == '-' ||
           letter == '_';
  };
  if (victim.command.empty() || victim.name.empty() ||
      !std::all_of(victim.name.begin(), victim.name.end(), plain)) {
    return Error{EINVAL, fmt::format("--command is '{}'; permitted is NAME=PROGRAM ARGUMENTS, the "
                                     "name of letters, digits, - and _",
                                     text)};
  }
  victim.description = "the caller's own program";
  return victim;
}

Status make_input(const std::string& path, std::size_t bytes, std::uint64_t seed) {
  std::string text;
  text.reserve(bytes + 16);
  for (std::uint64_t word = 0; text.size() < bytes; ++word) {
    // Few different words, many common ones: compressible like text.
    const std::uint64_t number = generators::draw(seed, word);
    const std::uint32_t kind = generators::below(1u << (4 + number % 8), number);
    text += fmt::format("{:x}{}", generators::draw(seed + 1, kind) & 0xffffff,
                        number % 13 == 0 ? '\n' : ' ');
  }
  text.resize(bytes);
  const Descriptor file(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
  const char* at = text.data();
  for (std::size_t left = bytes; file.open() && left != 0;) {
    const ssize_t count = ::write(file.number(), at, left);
    if (count <= 0) break;
    at += count;
    left -= static_cast<std::size_t>(count);
    if (left == 0) return {};
  }
  const int error = errno;
  return Error{error, fmt::format("cannot write the victims' input {}: {}; set TMPDIR to a folder "
                                  "with {} MiB free",
                                  path, std::strerror(error), bytes >> 20)};
}

Result<Usage> run_victim(const Victim& victim, unsigned threads,
                         const volatile std::sig_atomic_t& stopped) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{errno, fmt::format("no pipe for {}: {}", victim.name, std::strerror(errno))};
  }
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t parent = ::getpid();
  const Instant begin = now();
  const pid_t child = ::fork();
  if (child < 0) {
    return Error{errno, fmt::format("no process for {}: {}; raise the limit on processes: ulimit "
                                    "-u",
                                    victim.name, std::strerror(errno))};
  }
  if (child == 0) {
    const int pipe = ends[1];
    prepare_child(parent);
    if (!victim.loop.empty()) be_loop(victim, threads, pipe);
    be_program(victim.command, pipe);
  }
  writing = Descriptor();
  Tasks tasks(child);
  Status looked = tasks.look();
  siginfo_t ended{};
  bool killed = false;
  const bool is_loop = !victim.loop.empty();
  while (true) {
    ended.si_pid = 0;
    // A loop reports its own account, so nothing wakes beside it.
    const int wait = ::waitid(P_PID, static_cast<id_t>(child), &ended,
                              WEXITED | WNOWAIT | (is_loop ? 0 : WNOHANG));
    if (wait == 0 && ended.si_pid == child) break;
    if (stopped != 0 && !killed) {
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL);
      killed = true;
    }
    if (is_loop) continue;
    std::this_thread::sleep_for(look_period);
    static_cast<void>(tasks.look());
  }
  Usage usage;
  usage.wall_s = std::chrono::duration<double>(now() - begin).count();
  static_cast<void>(tasks.look());  // The first thread's last account, before it is reaped.
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  if (killed || stopped != 0) return Error{ECANCELED, fmt::format("{} was stopped", victim.name)};
  VictimMessage message;
  const ssize_t got = ::read(reading.number(), &message, sizeof(message));
  const bool told = got == static_cast<ssize_t>(sizeof(message));
  if (told && message.error != 0) {
    if (is_loop) return Error{message.error, message.text.data()};
    return Error{message.error, fmt::format("{} cannot be started: {}: {}", victim.name,
                                            victim.command.front(), std::strerror(message.error))};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || (is_loop && !told)) {
    return failed(victim, status);
  }
  if (is_loop) {
    return Usage{message.report.wall_s, message.report.cpu_s, message.report.run_delay_s,
                 message.report.answer};
  }
  if (!looked) return looked.error();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  usage.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  usage.run_delay_s = tasks.run_delay_s();
  return usage;
}

Result<std::uint64_t> rounds_taking(Victim victim, double seconds, unsigned threads,
                                    const volatile std::sig_atomic_t& stopped) {
  victim.rounds = rounds_first;
  while (true) {
    const Result<Usage> usage = run_victim(victim, threads, stopped);
    if (!usage) return usage.error();
    const double took = std::max(usage.value().wall_s, 1e-6);
    const double wanted = static_cast<double>(victim.rounds) * seconds / took;
    if (took > seconds / 4) {
      return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, rounds_max);
    }
    victim.rounds = std::min(
        {rounds_max, victim.rounds * 16, static_cast<std::uint64_t>(wanted / 2) + victim.rounds});
  }
}

}  // namespace k2k::labs::harm
