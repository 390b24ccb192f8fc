#pragma once
// The host's side of a Job: its memory, mainly the buffers of each worker, and the sums of the
// workers' counters.
//
// Threading: built and destroyed by one thread; sum() from any thread while the kernel runs.

#include <memory>
#include <string>
#include <vector>

#include "apps/common/device_blocks.hpp"
#include "apps/grep/job.hpp"
#include "apps/grep/word_set.hpp"
#include "k2k/runtime.hpp"

namespace k2k::grep {

struct JobOptions {
  std::vector<std::string> paths;
  std::uint32_t queue_bytes = 1u << 20;
  std::uint32_t chunk_bytes = 64u << 10;
  bool quiet = false;
  bool no_messages = false;
  bool bare_names = false;
};

class WorkerBuffers {
 public:
  // Errors: ENOMEM. The runtime must outlive the buffers.
  static Result<std::unique_ptr<WorkerBuffers>> create(Runtime& runtime, const WordSet& words,
                                                       std::uint64_t workers, JobOptions options);
  WorkerBuffers(const WorkerBuffers&) = delete;
  WorkerBuffers& operator=(const WorkerBuffers&) = delete;

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] Counters sum() const;
  // Requests the kernel to end soon. Any thread.
  void stop();

 private:
  WorkerBuffers(Runtime& runtime, JobOptions options);
  Status fill(const WordSet& words, std::uint64_t workers);

  // Memory that the kernel uses most: on a GPU its own, on the cpu backend shared memory, where
  // calls need no copies.
  Result<void*> near_kernel(std::size_t bytes);
  Status place_workers(std::uint64_t workers);

  Runtime& runtime_;
  apps::DeviceBlocks blocks_;
  bool on_gpu_ = false;  // Loads of shared memory cross the bus.
  JobOptions options_;
  Job job_;
  std::uint32_t* stop_ = nullptr;       // Shared.
  const Counters* counters_ = nullptr;  // Shared; one per worker.
  std::uint64_t workers_ = 0;
};

}  // namespace k2k::grep
