#pragma once
// graph500 as one call: a file and settings in; the searches, their rates and the memory out.
//
// Threading: one thread; it starts a runtime.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/input_memory.hpp"
#include "apps/common/resident.hpp"
#include "apps/graph500/graph_file.hpp"
#include "apps/graph500/traverse.hpp"
#include "runtime/settings/config.hpp"

namespace k2k::graph500 {

using apps::Mode;

enum class By : std::uint8_t {
  kernel,   // Launches, one a level.
  threads,  // The same steps by threads of the host. No device.
  serial,   // One thread with a queue, another program. No device.
};

struct Settings {
  By by = By::kernel;
  Mode mode = Mode::demand;
  Direction direction = Direction::hybrid;
  std::uint32_t roots = roots_max;          // The first of the file's.
  std::optional<std::uint64_t> root = {};   // This one instead of the file's.
  std::uint32_t groups = 0;                 // 0: enough for the device.
  std::uint32_t items = 0;                  // 0: enough for the device.
  std::uint32_t threads = 0;                // Of By::threads; 0: one a core.
  std::optional<std::uint32_t> alone = {};  // Job::alone_max; none: what suits the device.
  std::optional<std::uint32_t> share = {};  // Job::share_min, of kernels; likewise.
  bool sampled = false;                     // Memory all the time, not only after each search.
};

struct Search {
  std::uint32_t root = 0;
  double seconds = 0;      // With the clearing of the tree, without the validation.
  double cpu_seconds = 0;  // Of all threads, meanwhile.
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint32_t levels = 0;
  std::uint64_t digest = 0;  // Of all levels.

  [[nodiscard]] double teps() const { return static_cast<double>(edges) / seconds; }
};

struct Outcome {
  Header header = {};
  std::uint32_t wanted = 0;      // Searches.
  int interrupted_by = 0;        // The signal after which the rest of them was left out, or 0.
  std::vector<Search> searches;  // Each tree was validated.
  std::uint64_t graph_bytes = 0;
  double load_seconds = 0;
  double search_seconds = 0;
  double cpu_seconds = 0;            // Of the searches: all threads together.
  std::uint64_t steps = 0;           // Launches, or rounds of threads.
  double device_seconds = 0;         // Of search_seconds, within launches.
  std::uint64_t region_pages = 0;    // Filled for faults of the kernel.
  std::uint64_t minor_faults = 0;    // Linux' own in loading and searches, of all threads.
  std::uint64_t major_faults = 0;    // Those of them that waited for storage.
  std::uint64_t huge_bytes = 0;      // Of the graph in huge pages after the load.
  std::uint64_t resident_begin = 0;  // Bytes of the process before the graph came.
  std::vector<apps::ResidentSample> resident;
};

// Errors, each with the remedy: as open_graph() and read(), graph_for_device(), validate(),
// Runtime::create() and launch(); EINVAL (a root beyond the vertices or without edges; a wrong
// offset or target); EIO (the file was changed meanwhile); ENOMEM. SIGINT, SIGTERM and SIGHUP end
// the searches in order (apps/common/interruption.hpp): those that ended are in the outcome.
Result<Outcome> search(const std::string& path, const Settings& settings,
                       const RuntimeConfig& config);
// The same for a file that is open.
Result<Outcome> search(const GraphFile& file, const Settings& settings,
                       const RuntimeConfig& config);

}  // namespace k2k::graph500
