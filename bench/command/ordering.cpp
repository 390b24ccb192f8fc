// How much do blocking calls and strong order cost a kernel? (thesis, section 3.7, figure 3.8)
//
// Work-groups of 1,024 work-items permute a block of 8 KiB, one word per work-item, by the initial
// permutation of DES. They write the block to a file in memory by a pwrite of the work-group:
// blocking or not, strong or relaxed ("weak"). The more permutations precede the call, the less the
// call matters.
//
// As in the thesis, except for 32 blocks, and fewer than its 80 runs if they take more than 40 s.
// The time ends when the last write is in the file, by launch and drain.
// Budget: none; the thesis' shape: at few permutations non-blocking saves 30 %, beyond 16 nothing;
// weak-block is like strong-non-block; weak-non-block is best.

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "device/k2k.hpp"

namespace k2k::bench {

namespace {

constexpr std::uint32_t group_items = 1024;
constexpr std::size_t ordered_block_bytes = group_items * sizeof(std::uint64_t);
constexpr std::uint32_t block_count = 32;

// The initial permutation of DES (FIPS 46-3): bit i of the result comes from bit source[i], the
// first bit being the highest.
struct Permutation {
  std::array<std::uint8_t, 64> source{};
  constexpr Permutation() {
    constexpr int rows[] = {58, 60, 62, 64, 57, 59, 61, 63};
    for (int bit = 0; bit < 64; ++bit) {
      source[static_cast<std::size_t>(bit)] =
          static_cast<std::uint8_t>(rows[bit / 8] - 8 * (bit % 8) - 1);
    }
  }
};
constexpr Permutation initial;

K2K_DEVICE std::uint64_t permuted(std::uint64_t word) {
  std::uint64_t result = 0;
  for (const std::uint8_t source : initial.source) {
    result = result << 1 | (word >> (63 - source) & 1);
  }
  return result;
}

struct Work {
  std::uint64_t* data;
  int fd;
  std::uint32_t permutations;
  std::uint64_t* failures;
};

template <class Options>
Result<LaunchReport> launch(Runtime& runtime, Options options, const Work& work) {
  const auto kernel = [=] {
    std::uint64_t& mine = work.data[k2k::global_rank()];
    std::uint64_t word = mine;
    for (std::uint32_t count = 0; count < work.permutations; ++count) word = permuted(word);
    mine = word;
    const std::size_t offset = k2k::group_rank() * ordered_block_bytes;
    const Reply reply =
        k2k::pwrite(k2k::work_group, options, work.fd, work.data + offset / sizeof(std::uint64_t),
                    ordered_block_bytes, static_cast<std::int64_t>(offset));
    if (k2k::item_rank() == 0 && !reply.ok()) {
      __atomic_fetch_add(work.failures, std::uint64_t{1}, __ATOMIC_RELAXED);
    }
  };
  return runtime.launch({.groups = block_count, .group_items = group_items}, kernel,
                        "bench ordering");
}

using Launch = Result<LaunchReport> (*)(Runtime&, const Work&);
struct OrderManner {
  const char* name;
  Launch launch;
};
constexpr OrderManner order_manners[] = {
    {"strong-block",
     [](Runtime& runtime, const Work& work) { return launch(runtime, k2k::strong, work); }},
    {"strong-non-block",
     [](Runtime& runtime, const Work& work) { return launch(runtime, k2k::detached, work); }},
    {"weak-block",
     [](Runtime& runtime, const Work& work) { return launch(runtime, k2k::relaxed, work); }},
    {"weak-non-block",
     [](Runtime& runtime, const Work& work) {
       return launch(runtime, k2k::relaxed | k2k::detached, work);
     }},
};

// Microseconds per permutation of a block, including its share of the write.
Result<double> measure(Runtime& runtime, const OrderManner& manner, const MemoryFile& file,
                       std::vector<std::uint64_t>& data, std::uint32_t permutations) {
  std::uint64_t failures = 0;
  const Instant begin = now();
  auto report = manner.launch(runtime, {data.data(), file.descriptor(), permutations, &failures});
  auto drained = runtime.drain();
  const auto elapsed = static_cast<double>((now() - begin).count());
  if (!report) return report.error();
  if (!drained) return drained.error();
  std::vector<std::uint64_t> written(data.size());
  const std::size_t bytes = data.size() * sizeof(data[0]);
  const ssize_t count = ::pread(file.descriptor(), written.data(), bytes, 0);
  if (failures != 0 || !drained->empty() || count != static_cast<ssize_t>(bytes) ||
      written != data) {
    return Error{EIO, std::string(manner.name) + ": the file is not what the kernel wrote"};
  }
  return elapsed / 1'000 / block_count / permutations;
}

}  // namespace

Result<nlohmann::ordered_json> ordering(const RuntimeConfig& base, Effort effort) {
  RuntimeConfig config = base;
  config.device.wave_lanes = 64;
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  std::vector<std::uint64_t> data(block_count * group_items);
  std::uint64_t value = 1;
  for (std::uint64_t& word : data)
    word = value = value * 6364136223846793005u + 1442695040888963407u;
  auto file = MemoryFile::create(data.size() * sizeof(data[0]));
  if (!file) return file.error();

  std::vector<double> places = {1, 2, 4, 8, 16, 32};
  if (effort == Effort::brief) places.resize(2);
  std::vector<std::string> names;
  for (const OrderManner& manner : order_manners) names.emplace_back(manner.name);
  Figure figure({"permutations before a write", "times"}, {"a permutation of 8 KiB", "us"}, places,
                names);
  for (Rounds rounds = effort == Effort::brief ? Rounds("ordering", 1, 1, 0)
                                               : Rounds("ordering", 3, 80, 40);
       rounds.next();) {
    for (std::size_t place = 0; place < places.size(); ++place) {
      for (std::size_t series = 0; series < std::size(order_manners); ++series) {
        auto took = measure(runtime.value(), order_manners[series], file.value(), data,
                            static_cast<std::uint32_t>(places[place]));
        if (!took) return took.error();
        figure.at(series, place).add(took.value());
      }
    }
  }
  const auto to_strong_block = [&](std::size_t series, std::size_t place) {
    return rounded(figure.median(series, place) / figure.median(0, place));
  };
  nlohmann::ordered_json result;
  result["figure"] = figure.json();
  for (const std::size_t place : {std::size_t{0}, places.size() - 1}) {
    auto& ratios = result["to_strong_block_at_" + std::to_string(static_cast<int>(places[place]))];
    for (std::size_t series = 1; series < names.size(); ++series) {
      ratios[names[series]] = to_strong_block(series, place);
    }
  }
  return result;
}

}  // namespace k2k::bench
