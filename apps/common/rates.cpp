#include "apps/common/rates.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <system_error>

#include "base/clock.hpp"
#include "base/cores.hpp"
#include "base/descriptor.hpp"
#include "base/signals_blocked.hpp"

namespace k2k::apps {

namespace {

Nanoseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

std::optional<std::uint64_t> disk_bytes_of_process() {
  const Descriptor file(::open("/proc/self/io", O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return std::nullopt;
  char text[1024];
  const ssize_t bytes = ::read(file.number(), text, sizeof(text));
  if (bytes <= 0) return std::nullopt;
  return read_bytes_in({text, static_cast<std::size_t>(bytes)});
}

}  // namespace

std::optional<std::uint64_t> read_bytes_in(std::string_view text) {
  constexpr std::string_view key = "\nread_bytes: ";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const begin = text.data() + at + key.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end == begin) return std::nullopt;
  return number;
}

Rates::Rates(bool wanted) : wanted_(wanted) {
  if (!wanted_) return;
  begin_ = last_ = read();
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // end() still takes the sample of the whole time.
  }
}

Rates::~Rates() { end(); }

std::vector<RateSample> Rates::end() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || !wanted_) return samples_;
    ended_ = true;
  }
  ended_there_.notify_one();
  if (thread_.joinable()) thread_.join();
  take();
  return samples_;
}

Rates::Reading Rates::read() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {now(), time_of(usage.ru_utime) + time_of(usage.ru_stime), disk_bytes_of_process()};
}

void Rates::take() {
  const Reading next = read();
  const auto passed = static_cast<double>((next.at - last_.at).count());
  RateSample sample;
  sample.seconds = std::chrono::duration<double>(next.at - begin_.at).count();
  if (passed > 0) {
    sample.cpu_share = static_cast<double>((next.cpu_time - last_.cpu_time).count()) / passed /
                       static_cast<double>(usable_cores());
  }
  if (next.disk_bytes && last_.disk_bytes) sample.disk_bytes = *next.disk_bytes - *last_.disk_bytes;
  samples_.push_back(sample);
  last_ = next;
}

void Rates::run() {
  std::unique_lock lock(mutex_);
  Instant next = begin_.at + period;  // Of the begin, so that the rate does not drift.
  while (!ended_there_.wait_until(lock, next, [this] { return ended_; })) {
    take();
    next += period;
  }
}

}  // namespace k2k::apps
