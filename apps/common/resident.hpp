#pragma once
// A process's physical memory over a run (thesis, figure 4.8): its own pages by kind, and apart
// from them the pages of an input file in the page cache, which belong to no process.
//
// Threading: mark() from any thread; one thread of its own, from the constructor to end().

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/units.hpp"

namespace k2k::apps {

struct ResidentSample {
  double seconds = 0;           // Since the constructor.
  std::uint64_t anonymous = 0;  // Bytes, as all that follow.
  std::uint64_t file = 0;       // Mapped from files: programs, libraries, the input.
  std::uint64_t shared = 0;     // Shared memory.
  std::uint64_t cached = 0;     // Of the input in the page cache, mapped or not.

  [[nodiscard]] std::uint64_t own() const { return anonymous + file + shared; }
};

// Bytes of the line "NAME: N kB" in a text like /proc/self/status; 0 if it has none.
std::uint64_t kilobyte_line(std::string_view text, std::string_view name);

// Bytes of [0, bytes) of the file in the page cache; 0 where Linux does not tell.
std::uint64_t cached_bytes(int descriptor, std::uint64_t bytes);

// Bytes of this process in transparent huge pages; walks all its pages.
std::uint64_t huge_bytes_now();

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
