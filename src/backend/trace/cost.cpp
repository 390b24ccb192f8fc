#include "backend/trace/cost.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/found_once.hpp"

namespace k2k::backend::trace {

namespace {

constexpr int rounds = 3;
constexpr int reads_a_round = 64;
constexpr std::uint64_t read_bytes_max = 128u << 10;
constexpr double measured_us_max = 60;  // Sizes are measured so far at least.

// The mean CPU time per call.
Result<double> time_us(int file, std::span<std::byte> buffer) {
  const Nanoseconds before = thread_time();
  for (int read = 0; read < reads_a_round; ++read) {
    // Of more than a page it gives less where a signal waits, or Linux has work for the thread.
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t count = ::pread(file, buffer.data() + done, buffer.size() - done, 0);
      if (count <= 0) {
        return Error{EIO, std::string("cannot read /dev/urandom: ") +
                              (count < 0 ? std::strerror(errno) : "it gave nothing")};
      }
      done += static_cast<std::size_t>(count);
    }
  }
  return static_cast<double>((thread_time() - before).count()) / 1e3 / reads_a_round;
}

}  // namespace

std::uint64_t size_taking(double time_us, std::span<const ReadCost> costs) {
  K2K_EXPECT(!costs.empty());
  if (time_us <= costs.front().time_us) return costs.front().bytes;
  for (std::size_t index = 1; index < costs.size(); ++index) {
    const ReadCost& low = costs[index - 1];
    const ReadCost& high = costs[index];
    if (high.time_us < time_us) continue;
    const double part = (time_us - low.time_us) / (high.time_us - low.time_us);
    return low.bytes +
           static_cast<std::uint64_t>(part * static_cast<double>(high.bytes - low.bytes));
  }
  return costs.back().bytes;
}

Result<std::vector<ReadCost>> measure_reads(int file, std::span<std::byte> buffer,
                                            double longest_us) {
  std::vector<ReadCost> costs;
  for (std::uint64_t bytes = read_bytes_min; bytes <= buffer.size(); bytes *= 2) {
    double least_us = 1e9;  // Every disturbance makes it longer.
    for (int round = 0; round < rounds; ++round) {
      const Result<double> time = time_us(file, buffer.first(bytes));
      if (!time) return time.error();
      least_us = std::min(least_us, time.value());
    }
    // Longer reads take longer: where they do not, it is noise.
    if (!costs.empty()) least_us = std::max(least_us, costs.back().time_us);
    costs.push_back({bytes, least_us});
    if (least_us > longest_us) break;
  }
  return costs;
}

Result<std::vector<ReadCost>> measured_reads() {
  static constinit FoundOnce<std::vector<ReadCost>> costs_here;
  if (const auto* const known = costs_here.known()) return *known;
  const int file = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return Error{errno, std::string("cannot open /dev/urandom: ") + std::strerror(errno)};
  }
  std::vector<std::byte> buffer(read_bytes_max);
  Result<std::vector<ReadCost>> costs = measure_reads(file, buffer, measured_us_max);
  ::close(file);
  if (!costs) return costs;
  return costs_here.keep(std::move(costs).value());
}

}  // namespace k2k::backend::trace
