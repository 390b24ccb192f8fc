#pragma once
// The CPU time of a process's service threads by Linux' own account (schedstat), found by the
// threads' names, so that no component measures itself.
//
// A reading is a sum that only grows. A thread that began since the last reading counts whole; an
// ended thread keeps its last value. Linux accounts a running thread at the next timer tick or
// switch, so a reading may be late by one tick per core.
//
// Threading: an observer is confined to one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "base/units.hpp"

namespace k2k::host {

// Parses the first field of /proc/PID/task/TID/schedstat: time on a CPU. Empty: no such line.
std::optional<Nanoseconds> cpu_time_of(std::string_view schedstat);
// Decides by the line in /proc/PID/task/TID/comm: "k2k/serve0", "k2k/wait", "k2k/reads",
// "k2k/fault", "k2k/host", "k2k/clerk", "k2k/guard", and the governor's "k2k/limit", "k2k/canary",
// "k2k/ticker" and "k2k/cores". The control socket's thread "k2k/control" serves no request.
bool is_service_thread(std::string_view comm);
// "k2k/unit0": the device, whose CPU time is not the server's.
bool is_device_thread(std::string_view comm);

// The sum over threads that come and go.
class ThreadSum {
 public:
  // `threads` are all current threads by number, with their CPU time so far.
  void update(std::map<int, Nanoseconds> threads);
  [[nodiscard]] Nanoseconds total() const { return total_; }

 private:
  std::map<int, Nanoseconds> last_;
  Nanoseconds total_{0};
};

struct Reading {
  Instant when;
  Nanoseconds cpu;  // Since the observer began, plus the threads' CPU time before that.
};

class Observer {
 public:
  // `tasks` is /proc/PID/task of the process.
  explicit Observer(bool (*belongs)(std::string_view comm) = is_service_thread,
                    std::string tasks = "/proc/self/task")
      : belongs_(belongs), tasks_(std::move(tasks)) {}
  // Errors: from reading /proc, with the path.
  Result<Reading> read();

 private:
  bool (*belongs_)(std::string_view comm);
  std::string tasks_;
  ThreadSum sum_;
};

}  // namespace k2k::host
