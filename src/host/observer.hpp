#pragma once
// CPU time of a process's service threads by Linux' own account (schedstat) of every thread with a
// service thread's name, so that no component measures itself.
//
// A reading is a sum that only grows. A thread that began since the last look counts whole, one
// that ended keeps what it had when it was last seen. The kernel books a thread that runs at the
// next timer tick or switch, so a reading may be late by a tick a core.
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

// The first field of /proc/PID/task/TID/schedstat: time on a CPU. Empty: no such line.
std::optional<Nanoseconds> cpu_time_of(std::string_view schedstat);
// By the line in /proc/PID/task/TID/comm: "k2k/serve0", "k2k/wait", "k2k/fault", "k2k/guard", and
// the governor's "k2k/canary" and "k2k/ticker". The control socket's "k2k/control" serves no
// request.
bool is_service_thread(std::string_view comm);
// "k2k/unit0": the device, whose CPU time is not the server's.
bool is_device_thread(std::string_view comm);

// The sum over threads that come and go.
class ThreadSum {
 public:
  // Every thread that is there now, by its number, with its CPU time so far.
  void look(std::map<int, Nanoseconds> threads);
  [[nodiscard]] Nanoseconds total() const { return total_; }

 private:
  std::map<int, Nanoseconds> last_;
  Nanoseconds total_{0};
};

struct Reading {
  Instant when;
  Nanoseconds cpu;  // Since the observer began, and what threads had then.
};

class Observer {
 public:
  // `tasks` is /proc/PID/task of the process.
  explicit Observer(bool (*belongs)(std::string_view comm) = is_service_thread,
                    std::string tasks = "/proc/self/task")
      : belongs_(belongs), tasks_(std::move(tasks)) {}
  // Errors: those of reading /proc, the path named.
  Result<Reading> read();

 private:
  bool (*belongs_)(std::string_view comm);
  std::string tasks_;
  ThreadSum sum_;
};

}  // namespace k2k::host
