#include "host/observer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "host/proc_file.hpp"

namespace k2k::host {

namespace {

Error unreadable(const std::string& path, int error) {
  return {error,
          fmt::format("cannot read {} ({}); the observer needs /proc", path, strerror(error))};
}

// The line of a thread's file; empty: the thread has ended.
Result<std::string> line_of(const std::string& tasks, const std::string& thread, const char* file) {
  const std::string path = fmt::format("{}/{}/{}", tasks, thread, file);
  char line[line_bytes_max];
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t count = -1;
  if (descriptor >= 0) count = ::read(descriptor, line, sizeof line);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (count >= 0) return std::string(line, static_cast<std::size_t>(count));
  if (error == ENOENT || error == ESRCH) return std::string();
  return unreadable(path, error);
}

}  // namespace

std::optional<Nanoseconds> cpu_time_of(std::string_view schedstat) {
  std::int64_t count = 0;
  const char* const last = schedstat.data() + schedstat.size();
  const auto [end, error] = std::from_chars(schedstat.data(), last, count);
  if (error != std::errc() || end == last || *end != ' ' || count < 0) return std::nullopt;
  return Nanoseconds(count);
}

bool is_service_thread(std::string_view comm) {
  if (comm.ends_with('\n')) comm.remove_suffix(1);
  for (const char* const name :
       {"k2k/wait", "k2k/reads", "k2k/fault", "k2k/host", "k2k/clerk", "k2k/guard", "k2k/limit",
        "k2k/canary", "k2k/ticker", "k2k/cores"}) {
    if (comm == name) return true;
  }
  return comm.starts_with("k2k/serve");
}

bool is_device_thread(std::string_view comm) { return comm.starts_with("k2k/unit"); }

void ThreadSum::update(std::map<int, Nanoseconds> threads) {
  for (const auto& [thread, cpu] : threads) {
    const auto known = last_.find(thread);
    // A smaller value than before: a new thread has the number of an ended one.
    const bool same = known != last_.end() && known->second <= cpu;
    total_ += same ? cpu - known->second : cpu;
  }
  last_ = std::move(threads);
}

Result<Reading> Observer::read() {
  std::map<int, Nanoseconds> threads;
  const Instant begin = now();
  std::error_code error;
  std::filesystem::directory_iterator entry(tasks_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string thread = entry->path().filename();
    const Result<std::string> comm = line_of(tasks_, thread, "comm");
    if (!comm) return comm.error();
    if (!belongs_(comm.value())) continue;
    const Result<std::string> schedstat = line_of(tasks_, thread, "schedstat");
    if (!schedstat) return schedstat.error();
    const std::optional<Nanoseconds> cpu = cpu_time_of(schedstat.value());
    int number = 0;
    std::from_chars(thread.data(), thread.data() + thread.size(), number);
    if (cpu) threads[number] = *cpu;
  }
  if (error) return unreadable(tasks_, error.value());
  sum_.update(std::move(threads));
  return Reading{begin + (now() - begin) / 2, sum_.total()};
}

}  // namespace k2k::host
