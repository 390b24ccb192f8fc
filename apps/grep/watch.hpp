#pragma once
// The host's thread during a search: draws the bar, and checks for failed detached writes, which
// the kernel cannot detect.
//
// Threading: one thread, from the constructor to the destructor.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "apps/grep/worker_buffers.hpp"

namespace k2k::grep {

// "1,234 files  56.7 MB  890 MB/s  3 found"
std::string progress_text(const Counters& counters, double seconds);

class Watch {
 public:
  // `draws`: shows the bar, on standard error. `guards`: stops the search once a write(2) failed.
  Watch(const Runtime& runtime, WorkerBuffers& buffers, bool draws, bool guards);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void run();

  const Runtime& runtime_;
  WorkerBuffers& buffers_;
  const bool draws_;
  const bool guards_;
  std::mutex mutex_;
  std::condition_variable ended_there_;
  bool ended_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace k2k::grep
