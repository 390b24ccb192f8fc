#include "labs/translation/simulated/machine.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/contract.hpp"
#include "labs/translation/simulated/fault_desk.hpp"

namespace k2k::labs::translation {

namespace {

// The state of one simulation.
class Simulation {
 public:
  Simulation(const Machine& machine, const WaveTrace& trace,
             std::span<const Invalidation> invalidations)
      : machine_(machine),
        trace_(trace),
        invalidations_(invalidations),
        unit_tlbs_(machine.units, LruTable(machine.unit_tlb)),
        gpu_tlb_(machine.gpu_tlb),
        iommu_tlb_(machine.iommu_tlb),
        cache_(machine.cache),
        unit_free_(machine.units),
        walker_free_(machine.walkers),
        desk_(machine.fault_batch) {
    K2K_EXPECT(machine.walkers > 0 && machine.units > 0 && machine.waves_a_unit > 0);
    K2K_EXPECT(machine.prefetch > 0 && machine.page_bytes % line_bytes == 0);
    plan_invalidations();
  }

  Counts run() {
    for (std::uint32_t place = 0; place < machine_.waves_a_unit; ++place) {
      for (std::uint32_t unit = 0; unit < machine_.units; ++unit) start_wave(unit, 0);
    }
    while (!ready_.empty()) {
      Running wave = ready_.top();
      ready_.pop();
      invalidate_until(wave.ready_ns);
      if (wave.next == wave.end) {  // Its data is there: the next one takes its place.
        counts_.ns = std::max(counts_.ns, wave.ready_ns);
        start_wave(wave.unit, wave.ready_ns);
        continue;
      }
      execute(wave);
      ready_.push(wave);
    }
    invalidate_until(std::numeric_limits<double>::infinity());
    counts_.fault_batches = desk_.batches();
    return counts_;
  }

 private:
  struct Running {
    double ready_ns;
    std::uint64_t order;  // Between equal times.
    std::uint32_t unit;
    std::uint32_t next;  // Instruction.
    std::uint32_t end;
    double data_ns;  // When all data is there that it has asked for.
    bool operator>(const Running& other) const {
      return ready_ns != other.ready_ns ? ready_ns > other.ready_ns : order > other.order;
    }
  };

  // What an invalidation does, in the order of time.
  enum class Part : std::uint8_t { asked, iommu, gpu, retired };
  struct Step {
    double ns;
    std::size_t index;
    Part part;
  };

  void plan_invalidations() {
    const auto times = times_of(invalidations_, machine_.command_queue);
    for (std::size_t index = 0; index < times.size(); ++index) {
      steps_.push_back({times[index].asked_ns, index, Part::asked});
      steps_.push_back({times[index].iommu_ns, index, Part::iommu});
      steps_.push_back({times[index].gpu_ns, index, Part::gpu});
      steps_.push_back({times[index].retired_ns, index, Part::retired});
      counts_.shootdown_ns += times[index].retired_ns - times[index].asked_ns;
    }
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](const Step& one, const Step& other) { return one.ns < other.ns; });
  }

  void invalidate_until(double now_ns) {
    for (; next_step_ < steps_.size() && steps_[next_step_].ns <= now_ns; ++next_step_) {
      const Step& step = steps_[next_step_];
      const Invalidation& one = invalidations_[step.index];
      switch (step.part) {
        case Part::asked:
          if (one.unmaps) unmap(one, step.ns);
          break;
        case Part::iommu:
          counts_.invalidated += erase(iommu_tlb_, one);
          break;
        case Part::gpu:
          counts_.invalidated += erase(gpu_tlb_, one);
          for (LruTable& own : unit_tlbs_) counts_.invalidated += erase(own, one);
          break;
        case Part::retired:
          ++counts_.invalidations;
          break;
      }
    }
  }

  static bool names(const Invalidation& one, std::uint64_t page) {
    return one.pages == 0 || page - one.page < one.pages;
  }
  static std::size_t erase(LruTable& table, const Invalidation& one) {
    return one.pages == 0 ? table.erase_range(0, ~std::uint64_t{0})
                          : table.erase_range(one.page, one.pages);
  }
  // Pages whose fault is being served stay: they are mapped after this.
  void unmap(const Invalidation& one, double now_ns) {
    std::erase_if(mapped_ns_, [&](const auto& page) {
      return names(one, page.first) && page.second <= now_ns;
    });
  }

  void start_wave(std::uint32_t unit, double now_ns) {
    if (next_wave_ == trace_.waves.size()) return;
    const WaveTrace::Wave& wave = trace_.waves[next_wave_];
    ready_.push({now_ns, next_wave_++, unit, wave.first, wave.first + wave.count, now_ns});
  }

  void execute(Running& wave) {
    const WaveTrace::Instruction& one = trace_.instructions[wave.next++];
    double& free_ns = unit_free_[wave.unit];
    const double issued_ns =
        std::max(wave.ready_ns, free_ns) + (one.compute + 1) * thesis::cycle_ns;
    free_ns = issued_ns;
    counts_.instructions += one.compute + 1;
    counts_.accesses += one.lanes;

    const std::uint64_t lines_a_page = machine_.page_bytes / line_bytes;
    const std::uint64_t misses_before = counts_.misses;
    double lookup_ns = issued_ns;
    double translated_ns = issued_ns;
    double all_translated_ns = issued_ns;
    std::uint64_t page = ~std::uint64_t{0};  // Lines are sorted: equal pages are neighbours.
    for (std::uint32_t at = 0; at < one.lines; ++at) {
      const std::uint64_t line = trace_.lines[one.first + at];
      if (line / lines_a_page != page) {
        page = line / lines_a_page;
        translated_ns = translate(wave.unit, page, lookup_ns);
        all_translated_ns = std::max(all_translated_ns, translated_ns);
        lookup_ns += thesis::cycle_ns;  // A unit's TLB takes one page a cycle.
      }
      wave.data_ns = std::max(wave.data_ns, load(line, issued_ns, translated_ns));
    }
    if (counts_.misses != misses_before) {
      ++counts_.missing;
      counts_.miss_wait_ns += all_translated_ns - issued_ns;
    }
    const bool last = wave.next == wave.end;
    wave.ready_ns = one.waits || last ? wave.data_ns : issued_ns;
  }

  // The time at which the unit has the page's translation.
  double translate(std::uint32_t unit, std::uint64_t page, double now_ns) {
    ++counts_.translations;
    LruTable& own = unit_tlbs_[unit];
    if (const double* const arrives = own.find(page); arrives != nullptr) {
      ++counts_.unit_hits;
      return std::max(now_ns, *arrives);
    }
    const double asked_ns = now_ns + thesis::gpu_tlb_ns;
    double arrives_ns = 0;
    if (const double* const arrives = gpu_tlb_.find(page); arrives != nullptr) {
      ++counts_.gpu_hits;
      arrives_ns = std::max(asked_ns, *arrives);
    } else {
      arrives_ns = request(page, now_ns);
    }
    own.insert(page, arrives_ns);
    return arrives_ns;
  }

  // An ATS request: its page, and the neighbours that the response brings.
  double request(std::uint64_t page, double now_ns) {
    ++counts_.misses;
    const double at_iommu_ns = now_ns + thesis::way_ns / 2;
    double known_ns = at_iommu_ns;
    if (const double* const arrives = iommu_tlb_.find(page); arrives != nullptr) {
      ++counts_.iommu_hits;
      known_ns = std::max(at_iommu_ns, *arrives);
    } else {
      ++counts_.walks;
      double& walker = *std::min_element(walker_free_.begin(), walker_free_.end());
      walker = std::max(walker, at_iommu_ns) + thesis::walk_ns;
      known_ns = machine_.demand ? found_by_walk(page, walker, now_ns) : walker;
    }
    const double arrives_ns = known_ns + thesis::way_ns / 2;
    for (std::uint32_t next = 1; next < machine_.prefetch; ++next) {
      if (!is_mapped(page + next, known_ns)) continue;
      if (!iommu_tlb_.contains(page + next)) iommu_tlb_.insert(page + next, known_ns);
      if (!gpu_tlb_.contains(page + next)) gpu_tlb_.insert(page + next, arrives_ns);
    }
    iommu_tlb_.insert(page, known_ns);  // Last: the page itself is the most recent one.
    gpu_tlb_.insert(page, arrives_ns);
    return arrives_ns;
  }

  [[nodiscard]] bool is_mapped(std::uint64_t page, double now_ns) const {
    if (!machine_.demand) return true;
    const auto found = mapped_ns_.find(page);
    return found != mapped_ns_.end() && found->second <= now_ns;
  }

  // When the IOMMU knows the page whose walk ended at `walked_ns`, for a miss of `missed_ns`. A
  // page that is not there: the failure goes to the GPU, whose page request comes back; after the
  // fault the GPU asks and the IOMMU walks again. That walk waits for no walker: while pages are
  // missing, the driver is what all wait for.
  double found_by_walk(std::uint64_t page, double walked_ns, double missed_ns) {
    const auto [place, absent] = mapped_ns_.try_emplace(page, 0);
    double& mapped_ns = place->second;
    if (!absent && mapped_ns <= walked_ns) return walked_ns;
    if (absent) {
      const double asked_ns = walked_ns + thesis::way_ns;
      mapped_ns = desk_.serve(asked_ns);
      ++counts_.faults;
      counts_.driver_ns += mapped_ns - asked_ns;
    }
    const double known_ns = mapped_ns + thesis::way_ns + thesis::walk_ns;
    if (absent) counts_.fault_wait_ns += known_ns + thesis::way_ns / 2 - missed_ns;
    return known_ns;
  }

  // When a line's data arrives, whose translation is there at `translated_ns`. Memory is a pipe:
  // the bandwidth is taken at the time of issue, so that a long walk holds up no other line.
  double load(std::uint64_t line, double issued_ns, double translated_ns) {
    ++counts_.lines;
    if (const double* const arrives = cache_.find(line); arrives != nullptr) {
      ++counts_.line_hits;
      return std::max(translated_ns + thesis::cache_ns, *arrives);
    }
    memory_free_ns_ = std::max(memory_free_ns_, issued_ns) + thesis::line_ns;
    const double arrives_ns = std::max(memory_free_ns_, translated_ns) + thesis::memory_ns;
    cache_.insert(line, arrives_ns);
    return arrives_ns;
  }

  const Machine& machine_;
  const WaveTrace& trace_;
  const std::span<const Invalidation> invalidations_;
  std::vector<Step> steps_;
  std::size_t next_step_ = 0;
  std::vector<LruTable> unit_tlbs_;
  LruTable gpu_tlb_;
  LruTable iommu_tlb_;
  LruTable cache_;
  std::vector<double> unit_free_;
  std::vector<double> walker_free_;
  FaultDesk desk_;
  std::unordered_map<std::uint64_t, double>
      mapped_ns_;  // When a page is mapped; absent: it is not.
  double memory_free_ns_ = 0;
  std::size_t next_wave_ = 0;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> ready_;
  Counts counts_;
};

}  // namespace

Counts simulate(const Machine& machine, const WaveTrace& trace,
                std::span<const Invalidation> invalidations) {
  return Simulation(machine, trace, invalidations).run();
}

}  // namespace k2k::labs::translation
