#include "host/canary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/clock.hpp"

namespace k2k::host {

namespace {

constexpr Nanoseconds piece{10'000};
constexpr std::uint32_t rounds_tried = 4'000;  // A few microseconds.
constexpr int calibrations = 20;

// Each round depends on the one before, so that all rounds take the same time.
std::uint64_t churn(std::uint32_t rounds) {
  std::uint64_t state = rounds | 1;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
  }
  return state;
}

// The result has to go somewhere, or there would be no work.
Nanoseconds time_of(std::uint32_t rounds) {
  const Nanoseconds before = thread_time();
  const std::uint64_t result = churn(rounds);
  asm volatile("" : : "r"(result) : "memory");
  return thread_time() - before;
}

// The shortest of several: every disturbance makes a run longer.
Nanoseconds best_of(std::uint32_t rounds) {
  Nanoseconds best = Nanoseconds::max();
  for (int one = 0; one < calibrations; ++one) best = std::min(best, time_of(rounds));
  return best;
}

}  // namespace

std::optional<Nanoseconds> run_delay_of(std::string_view schedstat) {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  const char* const last = schedstat.data() + schedstat.size();
  const auto first = std::from_chars(schedstat.data(), last, running);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != ' ') return {};
  const auto second = std::from_chars(first.ptr + 1, last, waiting);
  if (second.ec != std::errc() || second.ptr == last || *second.ptr != ' ') return {};
  if (running < 0 || waiting < 0) return {};
  return Nanoseconds(waiting);
}

Result<Canary> Canary::open(const std::string& proc) {
  Result<ProcFile> file = ProcFile::open(proc + "/thread-self/schedstat");
  if (!file) return file.error();
  Canary canary(std::move(file).value());
  const Result<Nanoseconds> delay = canary.run_delay();
  if (!delay) return delay.error();
  canary.last_delay_ = delay.value();
  canary.calibrate();
  return canary;
}

Result<Nanoseconds> Canary::run_delay() const {
  char line[line_bytes_max];
  const Result<std::string_view> text = file_.read(line);
  if (!text) return text.error();
  if (const auto delay = run_delay_of(text.value())) return *delay;
  return Error{EBADMSG, fmt::format("{} is '{}', which is not a thread's three counts, such as "
                                    "'746649 49378 1'",
                                    file_.path(), text.value().substr(0, text.value().find('\n')))};
}

void Canary::calibrate() {
  const double tried =
      static_cast<double>(std::max<std::int64_t>(1, best_of(rounds_tried).count()));
  rounds_ = static_cast<std::uint32_t>(
      std::max(1.0, rounds_tried * static_cast<double>(piece.count()) / tried));
  undisturbed_ = best_of(rounds_);
}

std::optional<Canary::Piece> Canary::work() {
  const Nanoseconds took = time_of(rounds_);
  const Result<Nanoseconds> delay = run_delay();
  if (!delay) return {};
  const Nanoseconds waited = std::max(Nanoseconds::zero(), delay.value() - last_delay_);
  last_delay_ = delay.value();
  undisturbed_ = std::min(undisturbed_, took);  // The calibration was disturbed, too.
  return Piece{waited, took, undisturbed_};
}

}  // namespace k2k::host
