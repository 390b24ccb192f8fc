#include "bench/command/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace k2k::bench {

namespace {

constexpr auto between_lines = std::chrono::seconds(10);

}  // namespace

std::string progress_line(const std::string& name, std::size_t done, std::size_t all,
                          const char* what, double seconds_left) {
  return fmt::format("{}: {} of {} {}, about {:.0f} s left\n", name, done, all, what, seconds_left);
}

Progress::Progress(std::string name, const char* what)
    : name_(std::move(name)), what_(what), begin_(now()), told_(begin_) {}

void Progress::tell(std::size_t done, std::size_t all) {
  const Instant moment = now();
  if (done == 0 || done >= all || moment - told_ < between_lines) return;
  told_ = moment;
  const double each = seconds_since(begin_) / static_cast<double>(done);
  std::fputs(progress_line(name_, done, all, what_, each * static_cast<double>(all - done)).c_str(),
             stderr);
}

}  // namespace k2k::bench
