#pragma once
// A generator of requests: a workload in device code that makes requests of one kind of HISS' table
// I, and finds answers that the CPU finds by another way.
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
#include "k2k/runtime.hpp"

namespace k2k::labs::generators {

enum class Scale : std::uint8_t { small, medium, large };
enum class Per : std::uint8_t { fault, call };

struct Settings {
  Scale scale = Scale::medium;
  std::uint64_t seed = 1;
  // Of ubench alone.
  Per per = Per::fault;
  double rate = std::numeric_limits<double>::infinity();  // Accesses a second.

  // One of three by the scale.
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

  // What is measured. Errors: those of Runtime::launch(), and of what listens to the requests.
  virtual Status run(Runtime& runtime) = 0;

  // What device code found, once run() has returned, and what the CPU finds, in the same order.
  // Whole numbers are exact: below 2^53.
  [[nodiscard]] virtual std::vector<double> answers() = 0;
  [[nodiscard]] virtual std::vector<double> reference() = 0;
  // The relative error that an answer may have: 0 where sums do not depend on their order.
  [[nodiscard]] virtual double tolerance() const { return 0; }

  // Why this machine cannot run it, with what would mend that; then nothing is compared.
  [[nodiscard]] virtual std::string skipped() const { return {}; }
  // What a reader of the row must know.
  [[nodiscard]] virtual std::string note() const { return {}; }
};

struct Generator {
  const char* name;
  const char* row;   // Of table I: "page faults".
  const char* says;  // What it does, for people.
  // Errors: those of DemandRegion, and of the system calls that prepare the inputs.
  Result<std::unique_ptr<Workload>> (*make)(Runtime& runtime, const Settings& settings);
};

// Every generator there is, in the order of the table.
const std::vector<Generator>& all_generators();

// At most so many work-items a group, and so many groups, run a generator.
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
