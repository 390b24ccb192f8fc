// How fast does file data reach a GPU's memory through K2K's router, and how fast does it leave,
// beside what a program would write by hand?
//
// A file is read front to back, in blocks of one size, into memory of cuMemAlloc, and written from
// it. The ways (file_ways.hpp) take turns; before each one the file is cached as the cell says.
// The first round is not counted: in it the device's memory is copied back, or the file is read
// again, and every word is compared. `ratios` are K2K's throughput over a way's, of each round,
// with their 95 % interval. One JSON object a line: one for the run, then one for each cell.
//
// usage: file_bench_cuda [--folder DIR] [--mib N] [--seconds N] [--cufile]
// Exit: 0; 1: an error, or a byte was wrong; 77: no device here.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "bench/gpu/file_data.hpp"
#include "bench/gpu/file_ways.hpp"
#include "bench/verdict.hpp"
#include "router/profile/profile.hpp"

namespace k2k::bench {
namespace {

using nlohmann::ordered_json;

constexpr int exit_skipped = 77;
constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::array<std::size_t, 4> blocks = {4 * kib, 64 * kib, mib, 16 * mib};
constexpr std::uint64_t content_of_file = 1;
constexpr std::uint64_t content_of_device = 2;
constexpr std::uint64_t content_of_nothing = 3;
constexpr std::size_t rounds_min = 3;   // Counted,
constexpr std::size_t rounds_late = 2;  // and on a slow disk: a ratio's interval needs two.
constexpr std::size_t rounds_max = 25;

struct Options {
  std::string folder = ".";
  std::size_t mib_of_file = 64;
  double seconds = 45;
  bool cufile = false;
};

struct Cell {
  bool write = false;
  bool cold = false;
  std::size_t block = 0;
  std::size_t bytes = 0;  // A pass.
};

// Calls of 4 KiB take longer a byte: an eighth of the file is enough. Cold reads come last: a slow
// disk may need more time for them than there is.
std::vector<Cell> cells_of(std::size_t file_bytes) {
  std::vector<Cell> cells;
  const auto add = [&](bool write, bool cold) {
    for (const std::size_t block : blocks) {
      const std::size_t bytes = block < 64 * kib ? file_bytes / 8 : file_bytes;
      if (block <= bytes) cells.push_back({write, cold, block, bytes});
    }
  };
  add(false, false);
  add(true, false);
  add(false, true);
  return cells;
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

struct Measured {
  const Way* way = nullptr;
  std::string failure{};  // Of a call; empty: measured.
  std::uint64_t wrong = 0;
  std::vector<double> gbs{};       // One a counted round.
  std::vector<double> cpu_s_gb{};  // CPU time of this process, a GB.
};

class Bench {
 public:
  Bench(FileData& file, FileWays& ways) : file_(file), ways_(ways) {}

  // Errors: none of a way's, which its record tells; those of the file and of the device.
  Result<ordered_json> measure(const Cell& cell, double seconds) {
    if (!cell.write && written_) {
      if (Status status = file_.write_all(content_of_file); !status) return status.error();
      if (Status status = file_.sync(); !status) return status.error();
    }
    written_ = cell.write;
    std::vector<Measured> all;
    for (const Way& way : cell.write ? ways_.writes() : ways_.reads()) {
      if (way.missing.empty()) all.push_back({.way = &way});
    }
    cached_.clear();
    const FileWays::Routed before = ways_.routed();
    const Instant begin = now();
    std::size_t rounds = 0;  // The first one is not counted.
    const auto goes_on = [&] {
      const double spent = seconds_since(begin);
      if (rounds > rounds_min) return rounds <= rounds_max && spent <= seconds;
      return rounds <= rounds_late || spent <= 2 * seconds;
    };
    for (; goes_on(); ++rounds) {
      for (std::size_t turn = 0; turn < all.size(); ++turn) {
        Measured& one = all[(turn + rounds) % all.size()];
        if (!one.failure.empty()) continue;
        if (Status status = pass(cell, one, rounds == 0); !status) return status.error();
      }
    }
    const FileWays::Routed after = ways_.routed();
    ordered_json record = record_of(cell, all, rounds - 1);
    if (!cell.write) {
      record["k2k_bytes_cache"] = after.bytes_cache - before.bytes_cache;
      record["k2k_bytes_direct"] = after.bytes_direct - before.bytes_direct;
    }
    return record;
  }

  // Did K2K fail, or did any way move a wrong byte?
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Status pass(const Cell& cell, Measured& one, bool compare) {
    if (Status status = prepare(cell, compare); !status) return status;
    const int descriptor = file_.open((cell.write ? O_RDWR : O_RDONLY) | one.way->flags);
    if (descriptor < 0) {
      one.failure = fmt::format("open: {}", std::strerror(errno));
      return {};
    }
    const double cpu_before = cpu_seconds();
    const Instant begin = now();
    const Status status = one.way->run({descriptor, cell.block, cell.bytes});
    const double seconds = seconds_since(begin);
    const double cpu_s = cpu_seconds() - cpu_before;
    if (one.way->closing) one.way->closing(descriptor);
    ::close(descriptor);
    if (!status) {
      one.failure = status.error().message;
      return {};
    }
    if (compare) {
      const Result<std::uint64_t> wrong = cell.write ? file_.wrong(cell.bytes, content_of_device)
                                                     : ways_.wrong(cell.bytes, content_of_file);
      if (!wrong) return wrong.error();
      one.wrong = wrong.value();
      return {};
    }
    const double gb = static_cast<double>(cell.bytes) * 1e-9;
    one.gbs.push_back(gb / seconds);
    one.cpu_s_gb.push_back(cpu_s / gb);
    return {};
  }

  Status prepare(const Cell& cell, bool compare) {
    if (compare) {
      if (cell.write) {
        if (Status status = file_.write_all(content_of_nothing); !status) return status;
      }
      const std::uint64_t seed = cell.write ? content_of_device : content_of_nothing;
      if (Status status = ways_.fill(cell.bytes, seed); !status) return status;
    }
    if (cell.cold) {
      file_.evict();
    } else {
      file_.cache(cell.bytes);
    }
    const Result<double> share = file_.cached_share(cell.bytes);
    if (share) cached_.push_back(share.value());
    return {};
  }

  ordered_json record_of(const Cell& cell, const std::vector<Measured>& all, std::size_t rounds) {
    ordered_json record = {{"bench", "file_into_device"},
                           {"direction", cell.write ? "write" : "read"},
                           {"state", cell.cold ? "cold" : "cached"},
                           {"block_kib", cell.block / kib},
                           {"pass_mib", cell.bytes / mib},
                           {"rounds", rounds}};
    if (!cached_.empty()) record["cached_before_percent"] = rounded(100 * median(cached_));
    ordered_json ways = ordered_json::object();
    ordered_json ratios = ordered_json::object();
    const Measured& ours = all.front();
    for (const Measured& one : all) {
      const bool wrong = one.wrong != 0;
      failed_ = failed_ || wrong || (&one == &ours && !one.failure.empty());
      if (!one.failure.empty()) {
        ways[one.way->name] = {{"not_measured", one.failure}};
        continue;
      }
      ways[one.way->name] = {{"gbs", rounded(median(one.gbs))},
                             {"cpu_s_gb", rounded(median(one.cpu_s_gb))},
                             {"wrong_words", one.wrong}};
      if (&one == &ours || ours.gbs.size() != one.gbs.size()) continue;
      std::vector<double> each;
      for (std::size_t at = 0; at < one.gbs.size(); ++at)
        each.push_back(ours.gbs[at] / one.gbs[at]);
      const Interval interval = interval_of(each);
      ratios[one.way->name] = {{"ratio", rounded(interval.mean)},
                               {"low", rounded(interval.low)},
                               {"high", rounded(interval.high)}};
    }
    record["ways"] = ways;
    record["ratios"] = ratios;
    return record;
  }

  FileData& file_;
  FileWays& ways_;
  std::vector<double> cached_;  // The shares that were cached before the passes of a cell.
  bool written_ = false;        // The file has another content than the first one.
  bool failed_ = false;
};

void say(const ordered_json& record) {
  std::printf("%s\n", record.dump().c_str());
  std::fflush(stdout);
}

ordered_json head_of(const Options& options, const FileData& file, const FileWays& ways) {
  ordered_json head = {{"bench", "file_into_device"},
                       {"schema", 1},
                       {"version", K2K_VERSION},
                       {"file_mib", file.bytes() / mib},
                       {"seconds", options.seconds}};
  if (const auto disk = router::identify(file.descriptor()); disk) {
    head["file_system"] = disk.value().file_system;
    head["disk"] = disk.value().device_model;
    head["linux"] = disk.value().kernel;
    head["engine"] = disk.value().engine;
  }
  for (const Way& way : ways.reads()) {
    if (way.name != "cufile" && way.name != "gdrcopy") continue;
    head[way.name] = way.missing.empty() ? "there" : way.missing;
  }
  return head;
}

int fail(const Error& error) {
  std::fprintf(stderr, "file_bench: %s\n", error.message.c_str());
  return error.code == ENODEV ? exit_skipped : 1;
}

int run(const Options& options) {
  // Without udev's database cuFile takes no file, unless it is told so.
  ::setenv("CUFILE_EXPERIMENTAL_FS", "1", 0);
  const auto driver = CudaDriver::start();
  if (!driver) return fail(driver.error());
  auto file = FileData::make(options.folder, options.mib_of_file * mib, content_of_file);
  if (!file) return fail(file.error());
  const auto ways =
      FileWays::create(**driver, options.mib_of_file * mib, blocks.back(), options.cufile);
  if (!ways) return fail(ways.error());
  say(head_of(options, **file, **ways));
  Bench bench(**file, **ways);
  const std::vector<Cell> cells = cells_of(options.mib_of_file * mib);
  for (const Cell& cell : cells) {
    const auto record = bench.measure(cell, options.seconds / static_cast<double>(cells.size()));
    if (!record) return fail(record.error());
    say(record.value());
  }
  if (bench.failed()) {
    return fail({EIO, "K2K failed, or a way moved wrong bytes: see not_measured and wrong_words"});
  }
  return 0;
}

bool number(const char* text, double least, double most, double& value) {
  char* end = nullptr;
  value = std::strtod(text, &end);
  return end != text && *end == 0 && value >= least && value <= most;
}

// False: words that nobody knows.
bool read_options(int count, char** words, Options& options) {
  for (int at = 1; at < count; at += 2) {
    const std::string name = words[at];
    if (name == "--cufile") {
      options.cufile = true;
      --at;
      continue;
    }
    if (at + 1 == count) return false;
    double value = 0;
    if (name == "--folder") {
      options.folder = words[at + 1];
    } else if (name == "--mib" && number(words[at + 1], 8, 1024, value)) {
      options.mib_of_file = static_cast<std::size_t>(value);
    } else if (name == "--seconds" && number(words[at + 1], 0, 600, value)) {
      options.seconds = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace k2k::bench

int main(int count, char** words) {
  k2k::bench::Options options;
  if (!k2k::bench::read_options(count, words, options)) {
    std::fprintf(
        stderr,
        "usage: file_bench_cuda [--folder DIR] [--mib 8..1024] [--seconds 0..600] [--cufile]\n");
    return 2;
  }
  return k2k::bench::run(options);
}
