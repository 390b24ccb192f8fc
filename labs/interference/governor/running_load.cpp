#include "labs/interference/governor/running_load.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/clock.hpp"

namespace k2k::labs::governor {

using namespace std::chrono_literals;

Status RunningLoad::start(Runtime& runtime, Work work, Nanoseconds patience) {
  runtime_ = &runtime;
  patience_ = patience;
  try {
    thread_ = std::thread([this, run = std::move(work)] {
      result_ = run(stop_);
      ended_.store(true, std::memory_order_release);  // Pairs with ended().
    });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, fmt::format("no thread for the launch ({}); raise the limit on processes: "
                                     "ulimit -u",
                                     failure.what())};
  }
  return {};
}

Status RunningLoad::stop() {
  stop_.store(true, std::memory_order_relaxed);
  bool cancelled = false;
  for (const Instant until = now() + patience_; !ended();) {
    if (now() >= until) {
      runtime_->cancel();  // Repeatedly: the launch may not have begun.
      cancelled = true;
    }
    std::this_thread::sleep_for(1ms);
  }
  if (thread_.joinable()) thread_.join();
  if (cancelled && !result_ && result_.error().code == ECANCELED) return {};
  return result_;
}

RunningLoad::~RunningLoad() {
  if (thread_.joinable()) static_cast<void>(stop());
}

}  // namespace k2k::labs::governor
