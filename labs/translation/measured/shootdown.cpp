#include "labs/translation/measured/shootdown.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "bench/thread_cores.hpp"
#include "labs/interference/harm/machine.hpp"
#include "labs/translation/measured/page_memory.hpp"

namespace k2k::labs::translation {

namespace {

constexpr const char* no_thread = "cannot start a thread; raise the limit of processes (ulimit -u)";

double interrupts_now() { return shootdowns_in(harm::text_of("/proc/interrupts")); }

// Threads that read the memory all the time, so that their cores hold its translations.
class Readers {
 public:
  Readers(const std::vector<int>& cores, const char* memory, std::size_t bytes) {
    for (const int core : cores) {
      try {
        threads_.emplace_back([this, core, memory, bytes] { read(core, memory, bytes); });
      } catch (const std::system_error&) {
        break;  // Linux gives no further thread: started() tells.
      }
    }
    while (ready_.load() != threads_.size()) std::this_thread::yield();
  }
  ~Readers() {
    stop_ = true;
    for (std::thread& one : threads_) one.join();
  }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;
  [[nodiscard]] std::size_t started() const { return threads_.size(); }

 private:
  void read(int core, const char* memory, std::size_t bytes) {
    bench::stay_on(core);
    ++ready_;
    while (!stop_.load(std::memory_order_relaxed)) {
      for (std::size_t at = 0; at < bytes; at += bytes_of(PageSize::small)) {
        static_cast<void>(*static_cast<const volatile char*>(memory + at));
      }
    }
  }

  std::atomic<std::size_t> ready_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The memory that the readers read is never unmapped; the pages whose mappings change are others of
// the same address space, written before each call.
struct Measured {
  double ns;
  double interrupts;
};
Measured measure(bool unmap, std::uint32_t pages, std::uint64_t calls) {
  const std::size_t bytes = pages * bytes_of(PageSize::small);
  std::vector<double> times;
  const double before = interrupts_now();
  for (std::uint64_t call = 0; call < calls; ++call) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) continue;
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < bytes; at += bytes_of(PageSize::small)) {
      *static_cast<volatile char*>(static_cast<char*>(memory) + at) = 1;
    }
    const std::uint64_t begin = cycles();
    if (unmap) {
      ::munmap(memory, bytes);
    } else {
      ::mprotect(memory, bytes, PROT_READ);
    }
    times.push_back(static_cast<double>(cycles() - begin) * nanoseconds_per_cycle());
    if (!unmap) ::munmap(memory, bytes);
  }
  const double after = interrupts_now();
  const auto made = static_cast<double>(times.size());
  if (times.empty()) return {0, -1};
  // mprotect's turn unmaps as well, which costs an interrupt of its own: half of them are its.
  const double each = before < 0 ? -1 : (after - before) / made / (unmap ? 1 : 2);
  return {median(times), each};
}

}  // namespace

double shootdowns_in(std::string_view interrupts) {
  return harm::interrupts_of(interrupts, "TLB:");
}

Result<std::vector<ShootdownCost>> shootdown_costs(std::uint32_t calls) {
  std::vector<int> cores = bench::cores_of_thread();
  if (cores.empty()) cores = {0};
  std::vector<ShootdownCost> costs;
  Error problem{0, {}};
  // A thread of its own: holding the caller's on a core would outlast this function.
  const auto all = [&] {
    bench::stay_on(cores.front());
    const Result<PageMemory> shared =
        PageMemory::create(PageSize::small, 64 * bytes_of(PageSize::small));
    if (!shared) {
      problem = shared.error();
      return;
    }
    for (std::size_t count = 1; count <= cores.size();
         count = count < cores.size() ? std::min(2 * count, cores.size()) : count + 1) {
      const std::vector<int> others(cores.begin() + 1,
                                    cores.begin() + static_cast<std::ptrdiff_t>(count));
      const Readers readers(others, shared->data(), shared->bytes());
      if (readers.started() < others.size()) {
        problem = {EAGAIN, no_thread};
        return;
      }
      for (const bool unmap : {false, true}) {
        for (const std::uint32_t pages : shootdown_pages) {
          const Measured one = measure(unmap, pages, calls);
          costs.push_back({static_cast<std::uint32_t>(count), unmap ? "munmap" : "mprotect", pages,
                           calls, one.ns, one.interrupts});
        }
      }
    }
  };
  try {
    std::thread(all).join();
  } catch (const std::system_error&) {
    return Error{EAGAIN, no_thread};
  }
  if (problem.code != 0) return problem;
  return costs;
}

}  // namespace k2k::labs::translation
