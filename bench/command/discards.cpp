#include "bench/command/discards.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "bench/command/figure.hpp"
#include "bench/thread_cores.hpp"
#include "bench/verdict.hpp"
#include "k2k/demand_region.hpp"

namespace k2k::bench {

namespace {

// One page, and more than Linux invalidates one by one.
constexpr std::size_t page_counts[] = {1, 16, 256};
constexpr std::size_t neighbour_pages = 64;
constexpr auto settling = std::chrono::milliseconds(2);
constexpr auto patience = std::chrono::milliseconds(20);

struct Repeats {
  int rounds;
  int discards;  // A round, with and without neighbours each.
};
Repeats repeats_of(Effort effort) {
  return effort == Effort::brief ? Repeats{2, 20} : Repeats{40, 100};
}

double ns_of(std::uint64_t cycles) { return static_cast<double>(cycles) * nanoseconds_per_cycle(); }

// Threads that use the address space on other cores, which have to drop their translations.
class Neighbours {
 public:
  explicit Neighbours(const std::vector<int>& cores)
      : memory_(neighbour_pages * page_bytes), passes_(cores.size()) {
    try {
      for (std::size_t at = 0; at < cores.size(); ++at) {
        threads_.emplace_back([this, core = cores[at], at] { run(core, passes_[at]); });
      }
    } catch (...) {
      end();
      throw;
    }
  }
  ~Neighbours() { end(); }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  // Returns when their cores run them, or do not.
  void set(bool running) {
    command_.store(running ? Command::run : Command::sleep);
    command_.notify_all();
    std::this_thread::sleep_for(settling);
    running_ = running;
  }

  // Returns at a moment at which all of them run, if they are to. Other programs may have their
  // cores, and a core that runs none of them has nothing to drop.
  void await() const {
    if (!running_) return;
    const Instant begin = now();
    for (const std::atomic<std::uint64_t>& passes : passes_) {
      const std::uint64_t before = passes.load(std::memory_order_relaxed);
      while (passes.load(std::memory_order_relaxed) == before && now() - begin < patience) {
      }
    }
  }

 private:
  enum class Command { sleep, run, end };

  void run(int core, std::atomic<std::uint64_t>& passes) {
    stay_on(core);
    for (Command told = command_.load(); told != Command::end; told = command_.load()) {
      if (told == Command::sleep) {
        command_.wait(Command::sleep);
        continue;
      }
      for (std::size_t at = 0; at < memory_.size(); at += page_bytes) {
        static_cast<void>(*static_cast<const volatile char*>(&memory_[at]));
      }
      passes.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void end() {
    command_.store(Command::end);
    command_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::vector<char> memory_;
  std::vector<std::atomic<std::uint64_t>> passes_;  // Over the memory, by each thread.
  bool running_ = false;                            // Of the measuring thread.
  std::atomic<Command> command_{Command::sleep};
  std::vector<std::thread> threads_;
};

void write_pages(std::byte* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += page_bytes) {
    *static_cast<volatile std::byte*>(memory + at) = std::byte{1};
  }
}

// Pages outside of every region, which mprotect(2) takes the right to write from.
class PlainPages {
 public:
  explicit PlainPages(std::size_t bytes)
      : bytes_(bytes),
        address_(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (ok()) ::madvise(address_, bytes, MADV_NOHUGEPAGE);
  }
  ~PlainPages() {
    if (ok()) ::munmap(address_, bytes_);
  }
  PlainPages(const PlainPages&) = delete;
  PlainPages& operator=(const PlainPages&) = delete;

  [[nodiscard]] bool ok() const { return address_ != MAP_FAILED; }
  double protect_ns(const Neighbours& neighbours) {
    write_pages(static_cast<std::byte*>(address_), bytes_);
    neighbours.await();
    const std::uint64_t begin = cycles();
    ::mprotect(address_, bytes_, PROT_READ);
    const std::uint64_t end = cycles();
    ::mprotect(address_, bytes_, PROT_READ | PROT_WRITE);
    return ns_of(end - begin);
  }

 private:
  std::size_t bytes_;
  void* address_;
};

struct DiscardCosts {
  Samples total;
  Samples initialise;
  Samples remove;
  Samples finalise;
  Samples protect;

  void add(const DiscardCosts& more) {
    total.add(more.total);
    initialise.add(more.initialise);
    remove.add(more.remove);
    finalise.add(more.finalise);
    protect.add(more.protect);
  }
};

// Medians, ns.
struct DiscardSplit {
  double initialise;
  double unmap;
  double remote;
  double finalise;
  double total;

  [[nodiscard]] double sum_to_total() const {
    return (initialise + unmap + remote + finalise) / total;
  }
};

DiscardSplit split_of(std::size_t cores, const DiscardCosts& alone, const DiscardCosts& beside) {
  return {beside.initialise.median(), alone.remove.median(),
          cores == 1 ? 0 : beside.protect.median() - alone.protect.median(),
          beside.finalise.median(), beside.total.median()};
}

Status discard_once(DemandRegion& region, const Neighbours& neighbours, DiscardCosts& costs) {
  Status status = region.populate(0, region.bytes());
  if (!status) return status;
  write_pages(region.data(), region.bytes());
  const backend::RegionCounters before = region.counters();
  neighbours.await();
  const std::uint64_t begin = cycles();
  status = region.discard(0, region.bytes());
  const std::uint64_t end = cycles();
  const backend::RegionCounters after = region.counters();
  if (!status) return status;
  costs.total.add(ns_of(end - begin));
  Samples* const parts[] = {&costs.initialise, &costs.remove, &costs.finalise};
  for (std::size_t part = 0; part < backend::discard_parts; ++part) {
    parts[part]->add(ns_of(after.discard_cycles[part] - before.discard_cycles[part]));
  }
  return {};
}

// Is the whole interval within 5 % of 1?
const char* nearness_of(const Interval& sum) {
  if (sum.low >= 0.95 && sum.high <= 1.05) return "yes";
  return sum.high < 0.95 || sum.low > 1.05 ? "no" : "cannot tell";
}

nlohmann::ordered_json discard_row(std::size_t cores, std::size_t pages, const DiscardCosts& alone,
                                   const DiscardCosts& beside, const std::vector<double>& sums) {
  const DiscardSplit split = split_of(cores, alone, beside);
  const Interval sum = interval_of(sums);
  nlohmann::ordered_json row;
  row["cores"] = cores;
  row["pages"] = pages;
  row["discards"] = beside.total.size();
  row["initialise_ns"] = rounded(split.initialise);
  row["unmap_ns"] = rounded(split.unmap);
  row["remote_ns"] = rounded(split.remote);
  row["finalise_ns"] = rounded(split.finalise);
  row["total_ns"] = rounded(split.total);
  row["sum_to_total"] = rounded(sum.mean);
  row["sum_low"] = rounded(sum.low);
  row["sum_high"] = rounded(sum.high);
  row["within_5_percent"] = nearness_of(sum);
  return row;
}

Result<nlohmann::ordered_json> measure_pages(Runtime& runtime, const std::vector<int>& cores,
                                             std::size_t pages, Repeats repeats) {
  auto made = DemandRegion::zero(runtime, pages * page_bytes, {.name = "discarded"});
  if (!made) return made.error();
  DemandRegion region = std::move(made).value();
  PlainPages plain(pages * page_bytes);
  if (!plain.ok()) return Error{ENOMEM, "no memory to change the protection of"};
  Neighbours neighbours({cores.begin() + 1, cores.end()});
  DiscardCosts all[2];  // Without neighbours, and beside them.
  std::vector<double> sums;
  for (int round = 0; round < repeats.rounds; ++round) {
    // In turn, so that what other programs take is taken from both.
    DiscardCosts now[2];
    for (const bool running : {false, true}) {
      neighbours.set(running);
      DiscardCosts& costs = now[running ? 1 : 0];
      for (int one = 0; one < repeats.discards; ++one) {
        if (Status done = discard_once(region, neighbours, costs); !done) return done.error();
        costs.protect.add(plain.protect_ns(neighbours));
      }
    }
    sums.push_back(std::max(1e-3, split_of(cores.size(), now[0], now[1]).sum_to_total()));
    for (const std::size_t manner : {0, 1}) all[manner].add(now[manner]);
  }
  return discard_row(cores.size(), pages, all[0], all[1], sums);
}

Result<nlohmann::ordered_json> measure_discards(Runtime& runtime, Repeats repeats) {
  std::vector<int> cores = cores_of_thread();
  if (cores.empty()) cores = {0};
  stay_on(cores.front());
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t count = 1;; count = std::min(2 * count, cores.size())) {
    for (const std::size_t pages : page_counts) {
      const auto row = measure_pages(
          runtime, {cores.begin(), cores.begin() + static_cast<std::ptrdiff_t>(count)}, pages,
          repeats);
      if (!row) return row.error();
      rows.push_back(row.value());
    }
    if (count == cores.size()) return rows;
  }
}

}  // namespace

Result<nlohmann::ordered_json> discard_costs(Runtime& runtime, Effort effort) {
  const Error no_thread{EAGAIN, "no thread to discard pages with; raise ulimit -u"};
  try {
    Result<nlohmann::ordered_json> rows = no_thread;
    // A thread of its own: holding the caller's on a core would outlast this function.
    std::thread([&] {
      try {
        rows = measure_discards(runtime, repeats_of(effort));
      } catch (const std::system_error&) {
        rows = no_thread;
      }
    }).join();
    return rows;
  } catch (const std::system_error&) {
    return no_thread;
  }
}

}  // namespace k2k::bench
