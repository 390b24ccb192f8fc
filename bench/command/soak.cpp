// Does anything leak, or fail once in a million calls?
//
// A thousand million no-ops by whole waves, then ten million calls of every kind with every answer
// checked: blocking, halting, asynchronous, detached; by work-items, waves and work-groups; with
// data, paths and new descriptors. Resident memory, descriptors, slots and arena blocks are counted
// before, between and after; none may remain in use.

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "device/k2k.hpp"
#include "protocol/claim.hpp"

namespace k2k::bench {

namespace {

struct Size {
  std::uint64_t no_ops;
  std::uint64_t mixed;
};
constexpr Size full_size = {1'000'000'000, 10'000'000};
constexpr Size brief_size = {2'000'000, 100'000};

constexpr backend::LaunchShape no_op_shape = {.groups = 1, .group_items = 512};
constexpr backend::LaunchShape mixed_shape = {.groups = 16, .group_items = 128};
constexpr std::uint64_t no_ops_of_a_launch = 20'000'000;
constexpr std::uint32_t rounds_of_a_launch = 25;
constexpr std::size_t record_bytes = 64;

// Record i of a file is filled with letter_of(i).
K2K_HD constexpr char letter_of(std::uint32_t item) { return static_cast<char>('a' + item % 26); }
K2K_HD constexpr std::int64_t offset_of(std::uint32_t item) {
  return static_cast<std::int64_t>(item) * static_cast<std::int64_t>(record_bytes);
}

// One record per work-item. Errors: as MemoryFile::create() and pwrite(2).
Result<MemoryFile> file_of_records() {
  constexpr std::uint32_t records = mixed_shape.groups * mixed_shape.group_items;
  auto file = MemoryFile::create(records * record_bytes);
  if (!file) return file;
  for (std::uint32_t item = 0; item < records; ++item) {
    const std::string record(record_bytes, letter_of(item));
    const ssize_t count =
        ::pwrite(file->descriptor(), record.data(), record_bytes, offset_of(item));
    if (count == static_cast<ssize_t>(record_bytes)) continue;
    const int error = count < 0 ? errno : EIO;
    return Error{error, std::string("cannot write to memory: ") + strerror(error)};
  }
  return file;
}

std::uint64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "VmRSS: %" SCNu64, &kib) == 1) return kib;
  }
  return 0;
}

std::uint64_t open_descriptors() {
  std::uint64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count - 1;  // Without the iterator's own descriptor.
}

// Expects that no kernel runs and no request is in flight.
nlohmann::ordered_json left_behind(const Runtime& runtime) {
  const protocol::AreaView& area = runtime.area();
  std::uint64_t slots = 0;
  std::uint64_t locks = 0;
  for (std::uint32_t wave = 0; wave < area.wave_count; ++wave) {
    locks += static_cast<std::uint64_t>(std::popcount(area.locks[wave]));
    for (std::uint32_t lane = 0; lane < area.wave_lanes; ++lane) {
      slots += observe(area.slot(wave, lane)).state != protocol::SlotState::free ? 1 : 0;
    }
  }
  std::uint64_t blocks = 0;
  for (std::uint32_t block = 0; block < area.arena_blocks; ++block) {
    const std::uint64_t lent = protocol::device_load(&area.lent[block]);
    const bool free = lent == protocol::block_free ||
                      (lent != protocol::block_owned && protocol::loan_ended(area, lent));
    blocks += free ? 0 : 1;
  }
  return {{"resident_kib", resident_kib()},
          {"descriptors", open_descriptors()},
          {"slots", slots},
          {"locks", locks},
          {"blocks", blocks},
          {"in_flight", runtime.stats().in_flight}};
}

K2K_DEVICE bool is_record(const char* bytes, std::uint32_t item) {
  for (std::size_t index = 0; index < record_bytes; ++index) {
    if (bytes[index] != letter_of(item)) return false;
  }
  return true;
}

// Makes a call of every kind; returns the number of wrong answers.
K2K_DEVICE std::uint32_t call_all_kinds(int records, int copies, char* shared) {
  const auto item = static_cast<std::uint32_t>(global_rank());
  const std::int64_t offset = offset_of(item);
  constexpr auto whole = static_cast<long>(record_bytes);
  char bytes[record_bytes] = {};
  char later[record_bytes] = {};
  std::uint32_t wrong = 0;
  const auto check = [&](bool right) { wrong += right ? 0 : 1; };

  check(k2k::getpid(work_item) > 0);
  check(k2k::pread(work_item, records, bytes, record_bytes, offset) == whole);
  check(is_record(bytes, item));
  auto ticket = k2k::pread(work_item, async, records, later, record_bytes, offset);
  check(k2k::pwrite(work_item, detached, copies, bytes, record_bytes, offset) == 0);
  check(k2k::fsync(work_item, -1) == -EBADF);
  check(ticket.redeem() == whole && is_record(later, item));
  std::memset(bytes, 0, record_bytes);
  check(k2k::pread(work_item, halting, records, bytes, record_bytes, offset) == whole);
  check(is_record(bytes, item));
  check(k2k::nop(work_item, wave_wide) == 0);
  std::memset(later, 0, record_bytes);
  check(k2k::pread(work_item, wave_wide, records, later, record_bytes, offset) == whole);
  check(is_record(later, item));
  if (item % 32 == 0) {
    const long opened = k2k::open(work_item, "/dev/null", O_RDWR | O_CLOEXEC);
    check(opened >= 0);
    check(k2k::close(work_item, static_cast<int>(opened)) == 0);
  }
  const std::uint32_t first = item - item_rank();  // One call per group; every item gets its data.
  check(k2k::pread(work_group, records, shared, record_bytes, offset_of(first)) == whole);
  check(is_record(shared, first));
  return wrong;
}

Result<std::uint64_t> no_ops(Runtime& runtime) {
  std::uint64_t wrong = 0;
  std::uint64_t* const counter = &wrong;
  const auto kernel = [=] {
    for (std::uint64_t call = 0; call < no_ops_of_a_launch / no_op_shape.group_items; ++call) {
      if (k2k::nop(work_item, wave_wide) != 0) {
        __atomic_fetch_add(counter, std::uint64_t{1}, __ATOMIC_RELAXED);
      }
    }
  };
  auto report = runtime.launch(no_op_shape, kernel, "soak no-ops");
  if (!report) return report.error();
  return wrong;
}

Result<std::uint64_t> mixed(Runtime& runtime, const MemoryFile& records, const MemoryFile& copies) {
  std::uint64_t wrong = 0;
  std::uint64_t* const counter = &wrong;
  const int from = records.descriptor();
  const int to = copies.descriptor();
  const auto kernel = [=] {
    K2K_LOCAL(char[record_bytes], shared);
    for (std::uint32_t round = 0; round < rounds_of_a_launch; ++round) {
      __atomic_fetch_add(counter, call_all_kinds(from, to, shared), __ATOMIC_RELAXED);
    }
  };
  auto report = runtime.launch(mixed_shape, kernel, "soak mixed");
  if (!report) return report.error();
  auto errors = runtime.drain();
  if (!errors) return errors.error();
  for (const server::DetachedError& error : errors.value()) wrong += error.count;
  return wrong;
}

// Launches until so many more requests were served; reports progress on standard error.
template <class Launch>
Result<nlohmann::ordered_json> repeat(Runtime& runtime, const char* name, std::uint64_t calls,
                                      Launch launch) {
  const std::uint64_t before = runtime.stats().requests;
  const Instant begin = now();
  std::uint64_t wrong = 0;
  std::uint64_t served = 0;
  std::uint64_t launches = 0;
  for (; served < calls; ++launches) {
    auto round = launch();
    if (!round) return round.error();
    wrong += round.value();
    served = runtime.stats().requests - before;
    if (::isatty(STDERR_FILENO) == 1) {
      std::fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 " million calls", name,
                   served / 1'000'000, calls / 1'000'000);
    }
  }
  if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
  const double seconds = seconds_since(begin);
  return nlohmann::ordered_json{
      {"calls", served}, {"launches", launches}, {"seconds", rounded(seconds)}, {"wrong", wrong}};
}

}  // namespace

Result<nlohmann::ordered_json> soak(const RuntimeConfig& base, Effort effort) {
  const Size size = effort == Effort::brief ? brief_size : full_size;
  const auto made = file_of_records();
  if (!made) return made.error();
  const auto also_made = file_of_records();
  if (!also_made) return also_made.error();
  const MemoryFile& records = made.value();
  const MemoryFile& copies = also_made.value();
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  config.device.wave_lanes = 32;
  auto created = Runtime::create(config);
  if (!created) return created.error();
  Runtime& runtime = created.value();

  // Memory that is touched once and kept is no leak: stacks, page cache, threads.
  auto warm = mixed(runtime, records, copies);
  if (!warm) return warm.error();
  nlohmann::ordered_json result;
  result["start"] = left_behind(runtime);
  auto idle_calls = repeat(runtime, "no-ops", size.no_ops, [&] { return no_ops(runtime); });
  if (!idle_calls) return idle_calls.error();
  result["no_ops"] = idle_calls.value();
  result["between"] = left_behind(runtime);
  auto real_calls =
      repeat(runtime, "mixed", size.mixed, [&] { return mixed(runtime, records, copies); });
  if (!real_calls) return real_calls.error();
  result["mixed"] = real_calls.value();
  result["end"] = left_behind(runtime);
  return result;
}

}  // namespace k2k::bench
