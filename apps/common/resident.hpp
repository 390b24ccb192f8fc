#pragma once
// A process's physical memory and its page faults: now, and memory over a run (thesis, figure 4.8).
// Its own pages are told by kind, and apart from them the pages of an input file in the page cache,
// which belong to no process.
//
// Threading: any thread; mark() likewise. Resident has a thread of its own, from the constructor to
// end().

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/units.hpp"

namespace k2k::apps {

// Faults that Linux resolved, of all threads of the process.
struct LinuxFaults {
  std::uint64_t minor = 0;
  std::uint64_t major = 0;  // Those that waited for storage.

  [[nodiscard]] std::uint64_t all() const { return minor + major; }
};
LinuxFaults linux_faults_now();

// CPU time of all threads of the process so far.
double cpu_seconds_now();

// Bytes of physical memory.
struct ResidentBytes {
  std::uint64_t anonymous = 0;
  std::uint64_t file = 0;    // Mapped from files: programs, libraries, the input.
  std::uint64_t shared = 0;  // Shared memory.

  [[nodiscard]] std::uint64_t own() const { return anonymous + file + shared; }
};
ResidentBytes resident_now();

// Of the process at one moment of a run.
struct ProcessMemory {
  std::uint64_t bytes = 0;   // Resident.
  std::uint64_t faults = 0;  // Linux' own.
};
ProcessMemory process_memory_now();

struct ResidentSample : ResidentBytes {
  double seconds = 0;        // Since the constructor.
  std::uint64_t cached = 0;  // Bytes of the input in the page cache, mapped or not.
};

// Bytes of the line "NAME: N kB" in a text like /proc/self/status; 0 if it has none.
std::uint64_t kilobyte_line(std::string_view text, std::string_view name);

// Bytes of [0, bytes) of the file in the page cache; 0 where Linux does not tell.
std::uint64_t cached_bytes(int descriptor, std::uint64_t bytes);

// Bytes in transparent huge pages of the mapping that holds the address (/proc/self/smaps).
std::uint64_t huge_bytes_at(const void* address);

class Resident {
 public:
  static constexpr Nanoseconds first_period{2'000'000};
  static constexpr std::size_t samples_max = 512;

  // `by_thread`: samples at 500 Hz. Whenever samples_max are there, every second one is dropped and
  // the period doubles. Without the thread there are the marks alone. `descriptor`: the input, open
  // until end().
  Resident(bool by_thread, int descriptor, std::uint64_t input_bytes);
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  // Takes a sample now.
  void mark();
  // Ends the thread and returns all samples, in their order.
  std::vector<ResidentSample> end();

 private:
  void run();

  const Instant begin_;
  const int descriptor_;
  const std::uint64_t input_bytes_;
  std::mutex mutex_;
  std::condition_variable ended_there_;
  std::vector<ResidentSample> samples_;  // Guarded by mutex_, as all that follow but the thread.
  Nanoseconds period_ = first_period;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace k2k::apps
