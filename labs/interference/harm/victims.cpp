#include "labs/interference/harm/victims.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
#include <fstream>
#include <map>
#include <sstream>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/harm/loops.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/interference/harm/schedstat.hpp"

namespace k2k::labs::harm {

namespace {

using namespace std::chrono_literals;

constexpr auto look_period = 10ms;
constexpr auto loop_wait = 100ms;
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

Error no_pipe(const Victim& victim) {
  return {errno, fmt::format("no pipe for {}: {}", victim.name, std::strerror(errno))};
}

// In the child: until the parent closes its end of the pipe, if there is one.
void wait_for_end_of(const Descriptor& pipe, Descriptor& own_end) {
  own_end = Descriptor();
  char nothing = 0;
  while (pipe.open() && ::read(pipe.number(), &nothing, 1) < 0 && errno == EINTR) {
  }
}

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

// The schedstat of the threads of a process and of the processes that it starts: of each the last
// value that was seen.
class Tasks {
 public:
  explicit Tasks(pid_t process) : process_(std::to_string(process)) {}

  // Errors: of the first look. Threads that end meanwhile are no error.
  Status look() { return look_at(process_, 0); }
  [[nodiscard]] double run_delay_s() const {
    double sum = 0;
    for (const auto& [thread, seen] : last_) sum += seen.run_delay_s;
    return sum;
  }

 private:
  static constexpr int generations_max = 8;

  Status look_at(const std::string& process, int generation) {
    const std::string folder = "/proc/" + process + "/task";
    std::error_code error;
    std::filesystem::directory_iterator list(folder, error);
    if (error) return Error{error.value(), fmt::format("{}: {}", folder, error.message())};
    for (const auto end = std::filesystem::directory_iterator(); list != end;
         list.increment(error)) {
      const std::string task = list->path().string();
      const Result<Schedstat> seen = read_schedstat(task + "/schedstat");
      if (seen) last_[list->path().filename().string()] = seen.value();
      if (!seen && last_.empty()) return seen.error();
      // A Linux without this file tells no children.
      std::ifstream children(task + "/children");
      for (std::string child; generation < generations_max && children >> child;) {
        static_cast<void>(look_at(child, generation + 1));
      }
      if (error) break;
    }
    return {};
  }

  std::string process_;
  std::map<std::string, Schedstat> last_;
};

// A server without a file of its own, its load generator, and the end of both. $1 is the path of
// the input, beside which the socket and the latencies lie.
constexpr const char* redis_script = R"(
rm -f "$1.socket" "$1.latencies"
setpriv --pdeathsig KILL redis-server --port 0 --unixsocket "$1.socket" --save "" --appendonly no &
server=$!
tries=0
until redis-cli -s "$1.socket" ping; do
  tries=$((tries + 1)); [ $tries -lt 500 ] || exit 3
  kill -0 $server || exit 4
  sleep 0.01
done
redis-benchmark -s "$1.socket" -n 20000 -c 8 -d 64 -t get --csv > "$1.latencies"; status=$?
kill $server; wait $server
exit $status
)";

Result<double> read_tail(const Victim& victim) {
  const Result<double> tail = tail_of(text_of(victim.latencies));
  if (tail) return tail;
  return Error{tail.error().code,
               fmt::format("{} in {}: {}", victim.name, victim.latencies, tail.error().message)};
}

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
  std::vector<std::string> programs = needs;
  programs.insert(programs.begin(), command.front());
  for (const std::string& program : programs) {
    if (!path_of(program).empty()) continue;
    return package.empty() ? fmt::format("there is no program '{}'", program)
                           : fmt::format("'{}' is not installed: apt install {}", program, package);
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
      {"povray", "-D", "-F", "+W160", "+H120", "+WT{threads}",
       "+I/usr/share/doc/povray/examples/advanced/abyss.pov"},
      false);
  all.back().needs = {"/usr/share/doc/povray/examples/advanced/abyss.pov"};
  all.back().package = "povray povray-examples";
  add("quantlib", "prices an option in many ways", "quantlib-examples", {"EquityOption"}, true);
  add("redis", "answers 20,000 requests of eight clients", "redis-server redis-tools",
      {"sh", "-c", redis_script, "redis", input}, false);
  all.back().needs = {"redis-server", "redis-cli", "redis-benchmark", "setpriv"};
  all.back().latencies = input + ".latencies";
  return all;
}

Result<double> tail_of(const std::string& csv) {
  constexpr const char* column = "\"p99_latency_ms\"";
  std::istringstream lines(csv);
  std::string names;
  std::string values;
  std::getline(lines, names);
  std::getline(lines, values);
  std::istringstream names_left(names);
  std::istringstream values_left(values);
  std::string value;
  for (std::string name; std::getline(names_left, name, ',');) {
    if (!std::getline(values_left, value, ',')) break;
    if (name != column || value.size() < 3) continue;
    char* end = nullptr;
    const double tail_ms = std::strtod(value.c_str() + 1, &end);
    if (*end == '"' && tail_ms > 0) return tail_ms / 1e3;
  }
  return Error{EIO, "the load generator told no 99th percentile of the latency"};
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
                         const volatile std::sig_atomic_t& stopped, const CounterEvents& events) {
  std::array<int, 2> ends{};
  std::array<int, 2> gate{-1, -1};  // Closed once the counters are open.
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return no_pipe(victim);
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  if (events.any() && ::pipe2(gate.data(), O_CLOEXEC) != 0) return no_pipe(victim);
  Descriptor waits(gate[0]);
  Descriptor opens(gate[1]);
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
    wait_for_end_of(waits, opens);
    if (!victim.loop.empty()) be_loop(victim, threads, pipe);
    be_program(victim.command, pipe);
  }
  writing = Descriptor();
  const UserCounters counters(child, events);
  opens = Descriptor();
  Tasks tasks(child);
  Status looked = tasks.look();
  siginfo_t ended{};
  bool killed = false;
  const bool is_loop = !victim.loop.empty();
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  while (true) {
    ended.si_pid = 0;
    const int wait = ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT | WNOHANG);
    if (wait == 0 && ended.si_pid == child) break;
    if (stopped != 0 && !killed) {
      ::kill(-child, SIGKILL);
      ::kill(child, SIGKILL);
      killed = true;
    }
    // A loop reports its own account, so little wakes beside it. A wait without an end could miss
    // the signal that stops the laboratory.
    pollfd watched{process.number(), POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>((is_loop ? loop_wait : look_period).count()));
    if (!is_loop) static_cast<void>(tasks.look());
  }
  Usage usage;
  usage.wall_s = seconds_since(begin);
  usage.counts = counters.read();
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
    return Usage{.wall_s = message.report.wall_s,
                 .cpu_s = message.report.cpu_s,
                 .run_delay_s = message.report.run_delay_s,
                 .answer = message.report.answer,
                 .counts = usage.counts};
  }
  if (!looked) return looked.error();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  usage.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  usage.run_delay_s = tasks.run_delay_s();
  if (!victim.latencies.empty()) {
    const Result<double> tail = read_tail(victim);
    if (!tail) return tail.error();
    usage.tail_s = tail.value();
  }
  return usage;
}

Result<std::uint64_t> rounds_taking(Victim victim, double seconds, unsigned threads,
                                    const volatile std::sig_atomic_t& stopped) {
  victim.rounds = rounds_first;
  while (true) {
    const Result<Usage> usage = run_victim(victim, threads, stopped);
    if (!usage) return usage.error();
    // A thread's CPU time: beside other programs it is what the loop takes alone.
    const double running = victim.one_thread ? 1.0 : static_cast<double>(std::max(1u, threads));
    const double took = std::max(usage.value().cpu_s / running, 1e-6);
    const double wanted = static_cast<double>(victim.rounds) * seconds / took;
    if (took > seconds / 4) {
      return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, rounds_max);
    }
    victim.rounds = std::min(
        {rounds_max, victim.rounds * 16, static_cast<std::uint64_t>(wanted / 2) + victim.rounds});
  }
}

}  // namespace k2k::labs::harm
