// Is the router worth its cost for a file that is read once?
//
// A kernel opens, reads and closes every file of a folder, 64 KiB per read, into memory as users
// get it (Runtime::allocate_shared). 8,000 files have sizes distributed as the files below
// /usr/include; 20,000 have 20 bytes. The same kernel runs with the router on and off, and with the
// router on after `k2k calibrate`; the three take turns in random order, and a round's ratio is off
// ÷ on. Cold: the files' pages are dropped before each turn, their names and inodes stay.
//
// The last arms are a host program (bench/peers/small_files.c) that reads the files into registered
// memory through libk2k_io.so, and the same program without it.

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal_table.hpp"
#include "device/k2k.hpp"
#include "router/profile/profile.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::bench {

namespace {

constexpr Goal goal = {"small_files", "router off / on, with and without a profile"};
constexpr std::size_t chunk_bytes = 64 << 10;
constexpr std::uint32_t reader_items = 16;
constexpr std::size_t name_bytes = 24;  // "/12345": a file's name below its folder, and a 0.

// Sizes of the files below /usr/include of a Debian 12 with a compiler (8,217 files), at equal
// steps of their rank. The longest files are left out: eight of them hold as many bytes as all
// others.
constexpr std::array<double, 33> size_quantiles = {
    1,     428,   723,   1004,  1115,  1316,  1483,  1708,  1880,  2147,  2450,
    2736,  3120,  3453,  3784,  4192,  4829,  5453,  6175,  7224,  8332,  9589,
    11268, 13735, 15891, 18512, 21915, 24832, 30241, 38601, 48019, 72450, 400000};

// Between two quantiles sizes grow by a constant factor.
std::size_t size_at(double rank) {
  const double at = rank * static_cast<double>(size_quantiles.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), size_quantiles.size() - 2);
  const double part = at - static_cast<double>(low);
  return static_cast<std::size_t>(size_quantiles[low] *
                                  std::pow(size_quantiles[low + 1] / size_quantiles[low], part));
}

Error failure(const std::string& what) {
  return Error{errno, what + ": " + std::strerror(errno) + "; set TMPDIR to a folder with room"};
}

// Files named by their numbers, in a folder that the destructor removes.
class Folder {
 public:
  static Result<std::unique_ptr<Folder>> make() {
    std::string path = (std::filesystem::temp_directory_path() / "k2k-bench-files-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) return failure("no temporary folder");
    return std::unique_ptr<Folder>(new Folder(std::move(path)));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string name_of(std::size_t number) const {
    return path_ + "/" + std::to_string(number);
  }
  Status add(std::size_t number, std::size_t bytes) {
    const std::string text(bytes, 'k');
    const int file = ::open(name_of(number).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return failure("no file in " + path_);
    const bool written = ::write(file, text.data(), bytes) == static_cast<ssize_t>(bytes);
    ::close(file);
    if (!written) return failure("no room in " + path_);
    bytes_ += bytes;
    ++files_;
    return {};
  }
  [[nodiscard]] std::size_t files() const { return files_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Only clean pages can be dropped.
  void evict() const {
    for (std::size_t number = 0; number < files_; ++number) {
      const int file = ::open(name_of(number).c_str(), O_RDONLY | O_CLOEXEC);
      if (!is_on_disk_) ::fdatasync(file);
      ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      ::close(file);
    }
    is_on_disk_ = true;
  }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::size_t files_ = 0;
  std::size_t bytes_ = 0;
  mutable bool is_on_disk_ = false;
};

// Reads all files by a kernel.
class DeviceArm {
 public:
  static Result<std::unique_ptr<DeviceArm>> make(RuntimeConfig config, bool router) {
    config.files.router = router;
    auto runtime = Runtime::create(config);
    if (!runtime) return runtime.error();
    auto arm = std::unique_ptr<DeviceArm>(new DeviceArm(std::move(runtime).value()));
    for (void** const memory : {&arm->text_, &arm->paths_}) {
      auto given = arm->runtime_.allocate_shared(reader_items * chunk_bytes);
      if (!given) return given.error();
      *memory = given.value();
    }
    return arm;
  }

  // Returns seconds.
  Result<double> read(const Folder& folder) {
    // Each work-item has its own copy of the folder's path, to which it appends names.
    const std::size_t end = folder.path().size();
    if (end + name_bytes > chunk_bytes) return Error{ENAMETOOLONG, folder.path()};
    for (std::size_t item = 0; item < reader_items; ++item) {
      std::memcpy(static_cast<char*>(paths_) + item * chunk_bytes, folder.path().data(), end);
    }
    std::uint64_t bytes_count = 0, failures_count = 0;
    std::uint64_t* const bytes = &bytes_count;
    std::uint64_t* const failures = &failures_count;
    char* const text = static_cast<char*>(text_);
    char* const paths = static_cast<char*>(paths_);
    const std::size_t files = folder.files();
    const auto kernel = [=] {
      const std::uint32_t item = k2k::item_rank();
      char* const path = paths + item * chunk_bytes;
      char* const mine = text + item * chunk_bytes;
      std::uint64_t done = 0, failed = 0;
      for (std::size_t number = item; number < files; number += reader_items) {
        append_number(path + end, number);
        const int file = k2k::open(k2k::work_item, path, O_RDONLY | O_CLOEXEC).fd();
        long count = 0, offset = 0;
        do {
          count = k2k::pread(k2k::work_item, file, mine, chunk_bytes, offset);
          offset += count;
        } while (count == static_cast<long>(chunk_bytes));
        failed += file < 0 || count < 0 ? 1 : 0;
        done += static_cast<std::uint64_t>(offset);
        k2k::close(k2k::work_item, file);
      }
      __atomic_fetch_add(bytes, done, __ATOMIC_RELAXED);
      __atomic_fetch_add(failures, failed, __ATOMIC_RELAXED);
    };
    auto report =
        runtime_.launch({.groups = 1, .group_items = reader_items}, kernel, "bench small_files");
    if (!report) return report.error();
    if (failures_count != 0 || bytes_count != folder.bytes()) {
      return Error{EIO, fmt::format("the kernel read {} bytes of {}, {} files failed", bytes_count,
                                    folder.bytes(), failures_count)};
    }
    return std::chrono::duration<double>(report.value().elapsed).count();
  }

 private:
  explicit DeviceArm(Runtime runtime) : runtime_(std::move(runtime)) {}

  static void append_number(char* to, std::size_t number) {
    char digits[name_bytes];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    *to++ = '/';
    while (count != 0) *to++ = digits[--count];
    *to = '\0';
  }

  Runtime runtime_;
  void* text_ = nullptr;
  void* paths_ = nullptr;
};

// The build puts it beside k2k; an installed tree has none.
std::optional<std::string> built(const char* name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = self.parent_path().parent_path() / name;
  if (error || !std::filesystem::exists(path, error)) return {};
  return path.string();
}

// Reads all files by the peer; with libk2k_io.so preloaded, into registered memory. Returns the
// seconds that the peer reports.
Result<double> host_read(const std::string& program, const std::string& library,
                         const Folder& folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> words = {program, folder.path(), std::to_string(folder.files())};
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "LD_PRELOAD=", 11) != 0) variables.emplace_back(*each);
  }
  if (!library.empty()) variables.push_back("LD_PRELOAD=" + library);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(),
                                  environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char text[256] = {};
  const ssize_t count = error == 0 ? ::read(ends[0], text, sizeof(text) - 1) : 0;
  ::close(ends[0]);
  if (error != 0) return Error{error, program + " could not be run: " + std::strerror(error)};
  int status = 0;
  ::waitpid(child, &status, 0);
  unsigned long long bytes = 0, nanoseconds = 0;
  if (count <= 0 || status != 0 || std::sscanf(text, "%llu %llu", &bytes, &nanoseconds) != 2 ||
      bytes != folder.bytes()) {
    return Error{EIO, program + " did not read what the files hold; it said: " + text};
  }
  return static_cast<double>(nanoseconds) / 1e9;
}

// A profile of the folder's device, as k2k calibrate writes it. While this object lives, the router
// finds this profile and no other.
class Profiles {
 public:
  explicit Profiles(const Folder& folder) : place_(folder.path() + ".profiles") {
    const int descriptor = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto identity = router::identify(descriptor);
    ::close(descriptor);
    if (!identity) return;
    router::Profile profile;
    profile.identity = identity.value();
    profile.fit.model = router::ReaderConfig().model;
    profile.made_s = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    profile.version = K2K_VERSION;
    for (std::uint32_t pages = 1; pages <= 64; pages *= 2) {
      profile.direct.push_back(
          {static_cast<double>(page_bytes) * pages, router::direct_us(profile.fit.model, pages)});
      profile.cache.push_back(
          {static_cast<double>(page_bytes) * pages, router::cache_us(profile.fit.model, pages)});
    }
    is_there_ = router::store(place_, profile).ok();
  }
  ~Profiles() {
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
  }
  Profiles(const Profiles&) = delete;
  Profiles& operator=(const Profiles&) = delete;

  [[nodiscard]] bool is_there() const { return is_there_; }
  // No kernel runs, so no thread reads the environment.
  void use(bool with) const {
    ::setenv("K2K_PROFILE_DIR", (with ? place_ : place_ + "/none").c_str(), 1);
  }

 private:
  std::string place_;
  bool is_there_ = false;
};

struct Arm {
  const char* name;
  const char* against;  // The arm to compare with.
  bool with_profile;
  std::function<Result<double>(const Folder&)> read;
};

nlohmann::ordered_json row_of(const char* files, const char* cache, const Arm& arm,
                              const std::vector<double>& ratios, const Samples& seconds,
                              const Folder& folder) {
  const Interval ratio = interval_of(ratios);
  const Judgement judgement = judge(ratio, goal->target, goal->better);
  nlohmann::ordered_json row = {
      {"files", files},
      {"cache", cache},
      {"arm", arm.name},
      {"us_a_file", rounded(seconds.median() * 1e6 / static_cast<double>(folder.files()))},
      {"ratio", rounded(ratio.mean)},
      {"low", rounded(ratio.low)},
      {"high", rounded(ratio.high)},
      {"rounds", ratio.rounds},
      {"target", goal->target},
      {"verdict", name_of(judgement.verdict)}};
  if (judgement.more_rounds) row["more_rounds"] = *judgement.more_rounds;
  return row;
}

// One row for each arm that is compared with another.
Status measure(const char* files, const Folder& folder, const Profiles& profiles,
               const std::vector<Arm>& arms, bool cold, int rounds, nlohmann::ordered_json& rows) {
  std::map<std::string, Samples> seconds;
  std::map<std::string, std::vector<double>> ratios;
  std::mt19937 random(1);
  for (int round = -1; round < rounds; ++round) {  // The first round warms up.
    std::vector<std::size_t> order(arms.size());
    for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
    std::shuffle(order.begin(), order.end(), random);
    std::map<std::string, double> now;
    for (const std::size_t at : order) {
      if (cold) folder.evict();
      profiles.use(arms[at].with_profile);
      const Result<double> took = arms[at].read(folder);
      if (!took) return took.error();
      now[arms[at].name] = took.value();
    }
    for (const Arm& arm : arms) {
      if (round < 0) continue;
      seconds[arm.name].add(now[arm.name]);
      if (arm.against != nullptr) ratios[arm.name].push_back(now[arm.against] / now[arm.name]);
    }
  }
  for (const Arm& arm : arms) {
    if (arm.against == nullptr) continue;
    rows.push_back(
        row_of(files, cold ? "cold" : "warm", arm, ratios[arm.name], seconds[arm.name], folder));
  }
  return {};
}

// Restores a variable of the environment.
class Kept {
 public:
  explicit Kept(const char* name) : name_(name) {
    if (const char* const value = ::getenv(name)) before_ = value;
  }
  ~Kept() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

Result<nlohmann::ordered_json> small_files(const RuntimeConfig& config, Effort effort) {
  const bool brief = effort == Effort::brief;
  const Kept kept("K2K_PROFILE_DIR");
  auto plain = DeviceArm::make(config, false);
  auto routed = DeviceArm::make(config, true);
  auto profiled = DeviceArm::make(config, true);
  for (const auto* const made : {&plain, &routed, &profiled}) {
    if (!*made) return made->error();
  }
  const auto by = [](DeviceArm& arm) {
    return [&arm](const Folder& folder) { return arm.read(folder); };
  };
  std::vector<Arm> arms = {
      {"device, router off", nullptr, false, by(*plain.value())},
      {"device, router on", "device, router off", false, by(*routed.value())},
      {"device, router on, with a profile", "device, router off", true, by(*profiled.value())}};
  const auto peer = built("bench/small_files");
  const auto library = built("shim/libk2k_io.so");
  if (peer && library) {
    const auto host = [program = *peer](const std::string& before) {
      return [program, before](const Folder& folder) { return host_read(program, before, folder); };
    };
    arms.push_back({"host", nullptr, false, host("")});
    arms.push_back({"host, libk2k_io.so", "host", false, host(*library)});
  }
  struct Set {
    const char* name;
    std::size_t files;
    bool sized;
  };
  const Set sets[] = {{"8,000 as in /usr/include", brief ? 400u : 8000u, true},
                      {"20,000 of 20 bytes", brief ? 1000u : 20000u, false}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Set& set : sets) {
    auto folder = Folder::make();
    if (!folder) return folder.error();
    for (std::size_t number = 0; number < set.files; ++number) {
      // Files with neighbouring numbers have unrelated sizes.
      const double rank =
          static_cast<double>(number * 7919 % set.files) / static_cast<double>(set.files);
      const Status added = folder.value()->add(number, set.sized ? size_at(rank) : 20);
      if (!added) return added.error();
    }
    folder.value()->evict();
    const Profiles profiles(*folder.value());
    if (!profiles.is_there()) return Error{EIO, "no profile could be stored beside the files"};
    for (const bool cold : {false, true}) {
      const int rounds = brief ? 3 : (cold ? 8 : 21);
      const Status measured =
          measure(set.name, *folder.value(), profiles, arms, cold, rounds, rows);
      if (!measured) return measured.error();
    }
  }
  return nlohmann::ordered_json{{"rows", rows}};
}

}  // namespace k2k::bench
