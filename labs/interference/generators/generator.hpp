#pragma once
// A generator of requests: a workload in device code that makes requests of one kind of HISS' table
// I. The CPU computes the same answers by another method.
//
//   make() ──▶ Workload ── run() ──▶ answers()
//   inputs in demand regions   device code   compared with reference(), which the CPU computes
//
// Threading: confined to one thread; run() launches kernels and waits for them.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "k2k/demand_region.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::generators {

enum class Scale : std::uint8_t { small, medium, large };
enum class Per : std::uint8_t { fault, call };

struct Settings {
  Scale scale = Scale::medium;
  std::uint64_t seed = 1;
  // For ubench only.
  Per per = Per::fault;
  double rate = std::numeric_limits<double>::infinity();  // Accesses a second.

  // Selects one of three values by the scale.
  template <class Value>
  [[nodiscard]] Value by_scale(Value small, Value medium, Value large) const {
    return scale == Scale::small ? small : scale == Scale::medium ? medium : large;
  }
};

class Workload {
 public:
  Workload() = default;
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // The measured part. Errors: as Runtime::launch(), and as the receiver of the requests.
  virtual Status run(Runtime& runtime) = 0;

  // The device code's answers (after run()) and the CPU's, in the same order. Whole numbers are
  // exact: below 2^53.
  [[nodiscard]] virtual std::vector<double> answers() = 0;
  [[nodiscard]] virtual std::vector<double> reference() = 0;
  // The permitted relative error of an answer: 0 if sums do not depend on their order.
  [[nodiscard]] virtual double tolerance() const { return 0; }

  // The workload's memory that is filled on demand.
  [[nodiscard]] virtual std::vector<const DemandRegion*> regions() const = 0;

  // The reason why this machine cannot run the generator, with the remedy; then no answers are
  // compared.
  [[nodiscard]] virtual std::string skipped() const { return {}; }
  // A remark for readers of the row.
  [[nodiscard]] virtual std::string note() const { return {}; }
};

struct Generator {
  const char* name;
  const char* row;  // The row's name in table I: "page faults".
  const char* description;
  // Errors: as DemandRegion, and as the system calls that prepare the inputs.
  Result<std::unique_ptr<Workload>> (*make)(Runtime& runtime, const Settings& settings);
};

// Every generator, in the order of the table.
const std::vector<Generator>& all_generators();

// The largest work-group and the largest number of work-groups of a generator.
inline constexpr std::uint32_t group_items_most = 64;
inline constexpr std::uint32_t groups_usual = 4;
LaunchShape shape_on(const Runtime& runtime);

Result<std::unique_ptr<Workload>> make_ubench(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_bpt(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_xsbench(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_bfs(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_spmv(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_sssp(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_heap(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_pages(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_signals(Runtime& runtime, const Settings& settings);
Result<std::unique_ptr<Workload>> make_files(Runtime& runtime, const Settings& settings);

}  // namespace k2k::labs::generators
