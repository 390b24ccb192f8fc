// How much does a long write past the page cache cost (files.exclusive), and how many cached pages
// does it leave?
//
//   default      router::FileReader, a pwrite(2) through the page cache
//   exclusive    the same in exclusive mode: one O_DIRECT pwrite(2) where nothing is cached
//
// The target is a file that is on the disk and not cached, or the end of an empty file. The work is
// one write and fdatasync(2), or 64 MiB of successive writes with one fdatasync(2) at their end.
// Wall time and the calling thread's CPU time are measured for both, in turn; a ratio is default
// over exclusive, the mean of its logarithms with a 95 % interval.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/cached_file.hpp"
#include "bench/verdict.hpp"
#include "io/file/residency.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::bench {

namespace {

struct WriteCell {
  const char* what;  // "overwrite" or "extend".
  std::size_t block;
  std::size_t total;  // Bytes until fdatasync(2).
};

std::vector<WriteCell> all_cells() {
  std::vector<WriteCell> cells;
  for (const char* what : {"overwrite", "extend"}) {
    for (const std::size_t block : {512 * kib, 2 * mib, 8 * mib}) {
      cells.push_back({what, block, block});
      cells.push_back({what, block, 64 * mib});
    }
  }
  return cells;
}

struct Taken {
  double wall_us = 0;
  double cpu_us = 0;
  double cached_mib = 0;  // Left in the page cache.
};

Error failed(const char* what, int code) {
  return Error{code, std::string(what) + ": " + strerror(code) +
                         "; set TMPDIR to a folder on a disk with room"};
}

// Puts the file on the disk and out of the page cache.
Status prepare(int descriptor, const WriteCell& cell, const std::byte* memory) {
  if (std::string(cell.what) == "overwrite") {
    for (std::size_t at = 0; at < cell.total; at += cell.block) {
      if (::pwrite(descriptor, memory, cell.block, static_cast<off_t>(at)) < 0) {
        return failed("no temporary file of 64 MiB", errno);
      }
    }
  }
  if (::fsync(descriptor) != 0) return failed("fsync", errno);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

double cached_mib_of(int descriptor, std::size_t bytes) {
  auto probe = io::ResidencyProbe::open(descriptor);
  if (!probe) return 0;
  std::vector<std::uint8_t> pages(bytes / page_bytes);
  return static_cast<double>(probe->probe(descriptor, 0, pages, 1)) * page_bytes / mib;
}

Result<Taken> measure(const WriteCell& cell, router::FileReader& writer, const std::byte* memory) {
  std::string path = (std::filesystem::temp_directory_path() / "k2k-bench-XXXXXX").string();
  const Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file.number() < 0) return failed("no temporary file", errno);
  ::unlink(path.c_str());
  const int descriptor = file.number();
  const auto write = [&](std::size_t at) {
    return writer.pwrite(descriptor, memory, cell.block, static_cast<std::int64_t>(at));
  };
  // The first write opens the file's twin.
  if (write(0) < 0 || ::ftruncate(descriptor, 0) != 0) return failed("a first write", EIO);
  if (Status status = prepare(descriptor, cell, memory); !status) return status.error();
  const Instant begin = now();
  const Nanoseconds cpu = thread_time();
  for (std::size_t at = 0; at < cell.total; at += cell.block) {
    if (write(at) != static_cast<ssize_t>(cell.block)) return failed("a write", EIO);
  }
  if (::fdatasync(descriptor) != 0) return failed("fdatasync", errno);
  const Taken taken{std::chrono::duration<double, std::micro>(now() - begin).count(),
                    std::chrono::duration<double, std::micro>(thread_time() - cpu).count(),
                    cached_mib_of(descriptor, cell.total)};
  writer.closing(descriptor);
  return taken;
}

struct WriteRates {
  Samples wall_us[2], cpu_us[2], cached_mib[2];  // [0] default, [1] exclusive.
  std::vector<double> wall_ratios, cpu_ratios;   // One per round.

  [[nodiscard]] nlohmann::ordered_json row(const WriteCell& cell) const {
    const Interval wall = interval_of(wall_ratios);
    const Interval cpu = interval_of(cpu_ratios);
    return {{"what", cell.what},
            {"block_kib", cell.block / kib},
            {"total_mib", static_cast<double>(cell.total) / mib},
            {"default_us", rounded(wall_us[0].median())},
            {"exclusive_us", rounded(wall_us[1].median())},
            {"ratio", rounded(wall.mean)},
            {"low", rounded(wall.low)},
            {"high", rounded(wall.high)},
            {"cpu_default_us", rounded(cpu_us[0].median())},
            {"cpu_exclusive_us", rounded(cpu_us[1].median())},
            {"cpu_ratio", rounded(cpu.mean)},
            {"cpu_low", rounded(cpu.low)},
            {"cpu_high", rounded(cpu.high)},
            {"cached_default_mib", rounded(cached_mib[0].median())},
            {"cached_exclusive_mib", rounded(cached_mib[1].median())}};
  }
};

}  // namespace

Result<nlohmann::ordered_json> file_writes(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  std::unique_ptr<router::FileReader> writers[2];
  for (const bool exclusive : {false, true}) {
    auto made = router::FileReader::create({.exclusive = exclusive});
    if (!made) return made.error();
    writers[exclusive ? 1 : 0] = std::move(made).value();
  }
  const Memory memory = memory_of(8 * mib);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const WriteCell& cell : all_cells()) {
    if (brief && cell.total > 8 * mib) continue;
    WriteRates measured;
    const int rounds = brief ? 3 : cell.total > 8 * mib ? 12 : 30;
    for (int round = 0; round < rounds; ++round) {
      Taken taken[2];
      for (int turn = 0; turn < 2; ++turn) {
        const int which = (turn + round) % 2;
        const Result<Taken> one = measure(cell, *writers[which], memory.get());
        if (!one) return one.error();
        taken[which] = one.value();
        measured.wall_us[which].add(one.value().wall_us);
        measured.cpu_us[which].add(one.value().cpu_us);
        measured.cached_mib[which].add(one.value().cached_mib);
      }
      measured.wall_ratios.push_back(taken[0].wall_us / taken[1].wall_us);
      measured.cpu_ratios.push_back(taken[0].cpu_us / taken[1].cpu_us);
    }
    rows.push_back(measured.row(cell));
  }
  const router::ReaderStats stats = writers[1]->stats();
  return nlohmann::ordered_json{{"rows", rows},
                                {"writes", stats.writes},
                                {"writes_direct", stats.writes_direct},
                                {"fall_backs", stats.fall_backs}};
}

}  // namespace k2k::bench
