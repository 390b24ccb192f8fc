#pragma once
// The order of what a program gives to streams: launches, copies, sets, functions of the host.
//
//   Task        a task of a stream, by their numbers
//   TaskOrder   of each stream the last task that is before: it and all earlier ones of the stream
//
// Source: vector clocks (Mattern, 1989), a component a stream.
//
// Threading: values; SharedTaskOrder from any thread.

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

namespace k2k::emulator::exec::check {

struct Task {
  std::uint32_t stream = 0;  // 0: no task, whose order nobody knows.
  std::uint64_t number = 0;  // Within the stream, from 1.
};

class TaskOrder {
 public:
  [[nodiscard]] bool covers(const Task& task) const {
    const auto found = last_.find(task.stream);
    return found != last_.end() && found->second >= task.number;
  }
  void add(const Task& task) {
    std::uint64_t& last = last_[task.stream];
    last = std::max(last, task.number);
  }
  void join(const TaskOrder& other) {
    for (const auto& [stream, number] : other.last_) add({stream, number});
  }

 private:
  std::map<std::uint32_t, std::uint64_t> last_;
};

// One that several threads add to.
class SharedTaskOrder {
 public:
  void join(const TaskOrder& other) {
    const std::lock_guard lock(mutex_);
    order_.join(other);
  }
  [[nodiscard]] TaskOrder get() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  mutable std::mutex mutex_;
  TaskOrder order_;
};

// A task, and what is before it.
struct PlacedTask {
  Task task;
  TaskOrder before;
};

}  // namespace k2k::emulator::exec::check
