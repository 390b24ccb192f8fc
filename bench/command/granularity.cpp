// Which scope should make the call that reads a file? (thesis, section 3.7, figure 3.7)
//
//   left    pread of a file in memory by each work-item, each work-group of 64, the kernel as one
//   right   by work-groups of 64 to 1,024
//
// As with the work queues of the thesis, several threads serve: as many top halves and rings as
// cores. The number of rings is odd, because otherwise the first waves of groups of two waves would
// all use the same ring (wave modulo rings). `one_top_half` is the server's default: only calls of
// more than server.takeover_us are served beside others.
//
// Each work-item has a page of the file. The thesis does not say how it divided a file, and
// measures up to 2 GiB; one system call of Linux moves a page less than that, so this benchmark
// ends at 1 GiB. The buffer was touched before. The order is relaxed, as the kernel scope needs
// anyway.
// Budget: none; the thesis' shapes: work-items worst, work-groups best, larger ones better.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr std::uint32_t least_items = 64;  // A wavefront of the thesis, and its smallest
                                           // work-group.

// Host memory for the data.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : bytes_(bytes),
        address_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {}
  ~Buffer() {
    if (ok()) ::munmap(address_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] bool ok() const { return address_ != MAP_FAILED; }
  [[nodiscard]] char* data() const { return static_cast<char*>(address_); }

 private:
  std::size_t bytes_;
  void* address_;
};

enum class ReadBy : std::uint8_t { work_item, work_group, whole_kernel };

struct Partition {
  std::string name;
  ReadBy reader;
  std::uint32_t group_items;
};

// The arguments of a launch, passed to the kernel by value.
struct Read {
  int fd;
  char* buffer;
  std::size_t bytes;
  std::uint64_t* failures;
};

K2K_DEVICE void expect(const Read& read, long count, std::size_t wanted) {
  if (count != static_cast<long>(wanted)) {
    __atomic_fetch_add(read.failures, std::uint64_t{1}, __ATOMIC_RELAXED);
  }
}

K2K_DEVICE void by_item(const Read& read) {
  const std::size_t offset = k2k::global_rank() * page_bytes;
  const auto at = static_cast<std::int64_t>(offset);
  expect(read, k2k::pread(k2k::work_item, read.fd, read.buffer + offset, page_bytes, at),
         page_bytes);
}

K2K_DEVICE void by_group(const Read& read) {
  const std::size_t bytes = k2k::group_size() * page_bytes;
  const std::size_t offset = k2k::group_rank() * bytes;
  const auto at = static_cast<std::int64_t>(offset);
  expect(read, k2k::pread(k2k::work_group, k2k::relaxed, read.fd, read.buffer + offset, bytes, at),
         bytes);
}

K2K_DEVICE void by_kernel(const Read& read) {
  expect(read, k2k::pread(k2k::kernel, k2k::relaxed, read.fd, read.buffer, read.bytes, 0),
         read.bytes);
}

// Milliseconds from launch to end.
Result<double> measure(Runtime& runtime, const Partition& manner, Read read) {
  std::uint64_t failures = 0;
  read.failures = &failures;
  const auto items = static_cast<std::uint32_t>(read.bytes / page_bytes);
  const LaunchShape shape{.groups = items / manner.group_items, .group_items = manner.group_items};
  const auto launch = [&] {
    switch (manner.reader) {
      case ReadBy::work_item:
        return runtime.launch(shape, [=] { by_item(read); }, "bench granularity");
      case ReadBy::work_group:
        return runtime.launch(shape, [=] { by_group(read); }, "bench granularity");
      case ReadBy::whole_kernel:
        break;
    }
    return runtime.launch(shape, [=] { by_kernel(read); }, "bench granularity");
  };
  auto report = launch();
  if (!report) return report.error();
  if (failures != 0) return Error{EIO, "a pread from the device came back short"};
  return static_cast<double>(report.value().elapsed.count()) / 1e6;
}

std::uint32_t top_halves() {
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<std::uint32_t>(std::clamp(cores, 1l, 7l)) | 1;
}

// The sizes at which file and buffer leave half of the free memory unused.
std::vector<std::size_t> sizes_of(Effort effort) {
  const std::size_t largest = std::size_t{1} << (effort == Effort::brief ? 24 : 30);
  const std::size_t available = static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                                static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<std::size_t> sizes;
  for (std::size_t size = std::size_t{4} << 20; size <= largest; size *= 4) {
    if (sizes.empty() || size <= available / 4) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

Result<nlohmann::ordered_json> granularity(const RuntimeConfig& base, Effort effort) {
  const std::vector<Partition> manners = {
      {"work-item", ReadBy::work_item, least_items}, {"work-group 64", ReadBy::work_group, 64},
      {"kernel", ReadBy::whole_kernel, least_items}, {"work-group 128", ReadBy::work_group, 128},
      {"work-group 256", ReadBy::work_group, 256},   {"work-group 512", ReadBy::work_group, 512},
      {"work-group 1024", ReadBy::work_group, 1024},
  };
  const std::vector<std::size_t> left = {0, 1, 2};
  const std::vector<std::size_t> right = {1, 3, 4, 5, 6};
  const std::vector<std::size_t> alone = {0, 1, 2, 6};
  RuntimeConfig config = base;
  config.device.wave_lanes = 64;
  auto single = Runtime::create(config);
  if (!single) return single.error();
  config.server.top_halves = top_halves();
  config.device.rings = config.server.top_halves;
  auto parallel = Runtime::create(config);
  if (!parallel) return parallel.error();
  const std::vector<std::size_t> sizes = sizes_of(effort);
  auto file = MemoryFile::create(sizes.back());
  if (!file) return file.error();
  const Buffer buffer(sizes.back());
  if (!buffer.ok()) return Error{ENOMEM, "no memory for what the file holds"};

  std::vector<double> places;
  for (const std::size_t size : sizes)
    places.push_back(static_cast<double>(size) / static_cast<double>(mib));
  const auto figure_of = [&](const std::vector<std::size_t>& shown) {
    std::vector<std::string> names;
    for (const std::size_t manner : shown) names.push_back(manners[manner].name);
    return Figure({"file size", "MiB"}, {"read time", "ms"}, places, names);
  };
  Figure half_left = figure_of(left);
  Figure half_right = figure_of(right);
  Figure one_top_half = figure_of(alone);
  const auto add = [&](Runtime& runtime, const std::vector<std::size_t>& shown, Figure& figure) {
    // The system took back stacks that were unused for a second: map them again first.
    auto warm_up =
        measure(runtime, manners[0], {file->descriptor(), buffer.data(), sizes[0], nullptr});
    if (!warm_up) return Status(warm_up.error());
    for (std::size_t place = 0; place < sizes.size(); ++place) {
      for (std::size_t series = 0; series < shown.size(); ++series) {
        auto took = measure(runtime, manners[shown[series]],
                            {file->descriptor(), buffer.data(), sizes[place], nullptr});
        if (!took) return Status(took.error());
        figure.at(series, place).add(took.value());
      }
    }
    return Status();
  };
  for (Rounds rounds = effort == Effort::brief ? Rounds("granularity", 1, 1, 0)
                                               : Rounds("granularity", 3, 10, 40);
       rounds.next();) {
    if (Status status = add(parallel.value(), left, half_left); !status) return status.error();
    if (Status status = add(parallel.value(), right, half_right); !status) return status.error();
    if (Status status = add(single.value(), alone, one_top_half); !status) return status.error();
  }
  const std::size_t last = places.size() - 1;
  nlohmann::ordered_json result;
  result["left"] = half_left.json();
  result["right"] = half_right.json();
  result["one_top_half"] = one_top_half.json();
  result["top_halves"] = config.server.top_halves;
  result["item_to_group"] = rounded(half_left.median(0, last) / half_left.median(1, last));
  result["kernel_to_group"] = rounded(half_left.median(2, last) / half_left.median(1, last));
  result["group64_to_group1024"] = rounded(half_right.median(0, last) / half_right.median(4, last));
  return result;
}

}  // namespace k2k::bench
