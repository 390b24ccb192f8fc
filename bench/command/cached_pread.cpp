// How much of a core's pread() throughput does device code reach?
//
// Sixteen work-items read 4 KiB blocks of a cached file, each one call at a time; beside it, one
// thread calls pread() directly over the same offsets and buffers.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr int pread_rounds = 11;
constexpr std::uint32_t in_flight = 16;
constexpr std::size_t block_bytes = 4096;
constexpr std::int64_t file_blocks = 4096;  // 16 MiB.
constexpr int reads_per_item = 40'000;

// Returns an unnamed file with every block in the page cache, or -errno.
int cached_file() {
  const std::string name = (std::filesystem::temp_directory_path() / "k2k-bench-XXXXXX").string();
  std::vector<char> path(name.begin(), name.end());
  path.push_back('\0');
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return -errno;
  ::unlink(path.data());
  const std::vector<char> block(block_bytes, 'k');
  for (std::int64_t index = 0; index < file_blocks; ++index) {
    if (::write(descriptor, block.data(), block.size()) == static_cast<ssize_t>(block_bytes)) {
      continue;
    }
    const int error = errno;
    ::close(descriptor);
    return -error;
  }
  return descriptor;
}

std::int64_t offset_of(std::uint32_t item, int read) {
  return (static_cast<std::int64_t>(item) * 257 + read) % file_blocks *
         static_cast<std::int64_t>(block_bytes);
}

double gigabytes_per_second(Nanoseconds elapsed) {
  const double bytes = static_cast<double>(in_flight) * reads_per_item * block_bytes;
  return bytes / static_cast<double>(elapsed.count());
}

Result<double> from_device(Runtime& runtime, int descriptor, char* buffers) {
  std::uint64_t failures_count = 0;
  std::uint64_t* const failures = &failures_count;
  const auto kernel = [=] {
    const std::uint32_t item = k2k::item_rank();
    char* const buffer = buffers + item * block_bytes;
    for (int read = 0; read < reads_per_item; ++read) {
      const long count =
          k2k::pread(k2k::work_item, descriptor, buffer, block_bytes, offset_of(item, read));
      if (count != static_cast<long>(block_bytes)) {
        __atomic_fetch_add(failures, std::uint64_t{1}, __ATOMIC_RELAXED);
      }
    }
  };
  auto report = runtime.launch({.groups = 1, .group_items = in_flight}, kernel, "bench pread");
  if (!report) return report.error();
  if (failures_count != 0) return Error{EIO, "a pread from the device came back short"};
  return gigabytes_per_second(report.value().elapsed);
}

Result<double> direct(int descriptor, char* buffers) {
  const Instant start = now();
  for (int read = 0; read < reads_per_item; ++read) {
    for (std::uint32_t item = 0; item < in_flight; ++item) {
      const ssize_t count =
          ::pread(descriptor, buffers + item * block_bytes, block_bytes, offset_of(item, read));
      if (count != static_cast<ssize_t>(block_bytes)) return Error{EIO, "a direct pread failed"};
    }
  }
  return gigabytes_per_second(now() - start);
}

}  // namespace

Result<nlohmann::ordered_json> cached_pread(const RuntimeConfig& base) {
  RuntimeConfig config = base;
  config.device.compute_units = 1;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  const int descriptor = cached_file();
  if (descriptor < 0) {
    return Error{-descriptor, std::string("no 16 MiB temporary file: ") + strerror(-descriptor) +
                                  "; set TMPDIR to a folder with room"};
  }
  std::vector<char> buffers(in_flight * block_bytes);
  Samples device;
  Samples plain;
  std::vector<double> ratios;
  Status failure;
  for (int round = 0; round < pread_rounds && failure.ok(); ++round) {
    auto theirs = direct(descriptor, buffers.data());
    auto ours = from_device(runtime.value(), descriptor, buffers.data());
    if (!theirs || !ours) {
      failure = theirs ? ours.error() : theirs.error();
      break;
    }
    plain.add(theirs.value());
    device.add(ours.value());
    ratios.push_back(ours.value() / theirs.value());
  }
  ::close(descriptor);
  if (!failure) return failure.error();
  nlohmann::ordered_json result;
  result["device_gbps"] = rounded(device.median());
  result["direct_gbps"] = rounded(plain.median());
  result["ratio"] = rounded(device.median() / plain.median());
  result["goals"] = {goal_row({"pread", "device / direct"}, ratios)};
  return result;
}

}  // namespace k2k::bench
