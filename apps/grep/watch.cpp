#include "apps/grep/watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

namespace k2k::grep {

namespace {

constexpr auto period = std::chrono::milliseconds(100);
constexpr const char* erase_line = "\r\x1b[K";

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3;) text.insert(place -= 3, ",");
  return text;
}

void put(const std::string& text) {
  // A failure to draw the bar does not stop the search.
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace

std::string progress_text(const Counters& counters, double seconds) {
  const double megabytes = static_cast<double>(counters.bytes) / 1e6;
  return fmt::format("{} files  {:.1f} MB  {:.0f} MB/s  {} found", grouped(counters.files),
                     megabytes, seconds > 0 ? megabytes / seconds : 0.0, grouped(counters.matches));
}

Watch::Watch(const Runtime& runtime, WorkerBuffers& buffers, bool draws, bool guards)
    : runtime_(runtime), buffers_(buffers), draws_(draws), guards_(guards) {
  if (!draws && !guards) return;
  // Signals are delivered to the program's main thread.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

Watch::~Watch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_there_.notify_one();
  thread_.join();
}

void Watch::run() {
  const auto begin = std::chrono::steady_clock::now();
  bool drawn = false;
  std::unique_lock lock(mutex_);
  while (!ended_there_.wait_for(lock, period, [this] { return ended_; })) {
    if (draws_) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      put(erase_line + progress_text(buffers_.sum(), spent.count()));
      drawn = true;
    }
    if (!guards_) continue;
    const auto errors = runtime_.stats().detached_errors;
    if (std::any_of(errors.begin(), errors.end(),
                    [](const auto& error) { return error.name == "write"; })) {
      buffers_.stop();
    }
  }
  if (drawn) put(erase_line);
}

}  // namespace k2k::grep
