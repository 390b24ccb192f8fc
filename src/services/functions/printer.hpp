#pragma once
// Serves k2k::print(): formats on the host, and writes until the whole text is written.
//
// Threading: run() from any thread that may wait.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "services/functions/caller_memory.hpp"
#include "services/functions/host_run.hpp"
#include "services/services.hpp"

namespace k2k::services {

[[nodiscard]] bool is_print(const Request& request);
// The write(2) that a print makes; its memory is not the caller's.
[[nodiscard]] Request write_of_print(const Request& request);

class Printer {
 public:
  // `memory` outlives this.
  explicit Printer(const CallerMemory& memory) : memory_(&memory) {}

  // The bytes written, or a negative errno: -EPROTO for a forged frame, -EINVAL for a format that
  // does not suit the arguments, those of HostFrame::open() and of write(2). Throws std::bad_alloc.
  std::int64_t run(const Request& request, Interruption interruption, router::Files& files,
                   HostRun& host_run);

 private:
  class Turn;  // Until its end no other print writes to the descriptor.

  const CallerMemory* memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> busy_;  // Descriptors that prints write to. Under mutex_.
};

}  // namespace k2k::services
