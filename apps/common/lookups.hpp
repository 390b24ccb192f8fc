#pragma once
// A run of lookups in an input file (k2k-bpt, k2k-xsbench): by one launch of a kernel, or by
// threads of the host without a device. Both run the same code, and their answers are compared with
// those that the generator found by another method, so that damage of any byte that matters is
// told.
//
// Threading: one thread; it starts a runtime, or threads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "apps/common/input_run.hpp"
#include "apps/common/lookup_totals.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::apps {

enum class By : std::uint8_t {
  kernel,   // One launch.
  threads,  // Of the host: Linux serves the faults of a mapped file.
};

struct LookupSettings {
  By by = By::kernel;
  Mode mode = Mode::demand;
  std::uint32_t groups = 0;   // 0: enough for the device; of threads, the parts.
  std::uint32_t items = 0;    // 0: enough for the device.
  std::uint32_t threads = 0;  // Of By::threads; 0: one a core.
  bool sampled = false;       // Memory all the time, not only between the steps.
};

// The launch is the only one: take_seconds is kernel_seconds. Of threads, it is their time.
struct LookupOutcome : InputRun {
  LookupTotals totals;
  std::vector<ResidentSample> resident;  // Before the input, after its load, after the lookups.
};

// Memory that the lookups use beside the file.
struct LookupMemory {
  // Zeroed. Errors: ENOMEM.
  std::function<Result<void*>(std::size_t bytes)> allocate;
  // Errors: as Runtime::copy().
  std::function<Status(void* to, const void* from, std::size_t bytes)> copy;
};

// What the programs do not share.
class LookupProgram {
 public:
  virtual ~LookupProgram() = default;
  [[nodiscard]] virtual const InputFile& file() const = 0;
  [[nodiscard]] virtual const char* name() const = 0;       // For messages: "k2k-bpt".
  [[nodiscard]] virtual std::uint64_t lookups() const = 0;  // In the file.
  // As the generator found them; without `wrong`.
  [[nodiscard]] virtual LookupTotals expected() const = 0;
  // `data`: the part of the file that kernels use. Errors: those of `memory`.
  virtual Status prepare(const std::byte* data, std::uint32_t turn, LookupTotals* totals,
                         const LookupMemory& memory) = 0;
  // All lookups. Errors: as Runtime::launch().
  virtual Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape) = 0;
  // Part `part` of `parts` by the calling thread.
  virtual void run_part(std::uint32_t part, std::uint32_t parts) = 0;
  // One line about the word of the file that ended a lookup.
  [[nodiscard]] virtual Error wrong_place(std::uint64_t place, std::uint8_t reason) const = 0;
};

// Errors, each with the remedy: as Runtime::create() and launch(), InputMemory, run_parts(),
// unchanged() and wrong_place(); ENOMEM; EINVAL (other answers than the generator's).
Result<LookupOutcome> run_lookups(LookupProgram& program, const LookupSettings& settings,
                                  const RuntimeConfig& config);

}  // namespace k2k::apps
