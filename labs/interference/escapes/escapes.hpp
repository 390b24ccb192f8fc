#pragma once
// Can a kernel make the host work beyond the governor's cap? Each attempt is a stream of requests
// whose work Linux may do elsewhere: in interrupts, in Linux' own threads, in other processes. It
// runs in processes of its own; the parent measures their CPU time and that of Linux
// (kernel_time.hpp). Other programs are in no sum, but the work of Linux for them is.
//
// Threading: the caller's thread measures. It forks, so no other thread may run.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::escapes {

enum class Deed : std::uint8_t {
  sends,          // Datagrams to a socket of this machine, which is full.
  dirty_pages,    // Writes to a file whose pages are written back at once.
  direct_reads,   // Reads with O_DIRECT.
  fsync,          // A byte, made durable.
  unmapping,      // 8 MiB of memory, filled and given back.
  urgent_calls,   // Calls that no window holds.
  ring_of_calls,  // io_uring_setup.
  child,          // fork.
};

struct Attempt {
  const char* name;
  Deed deed;
  std::uint32_t processes = 1;  // Each with a runtime under the cap.
  bool host_limit = false;      // The cap is a limit for all of them together.
};
inline constexpr std::uint32_t processes_max = 3;

// The attempts of a run, in their order.
const std::vector<Attempt>& all_attempts();

// Of one round. Shares are fractions of the capacity of all cores.
struct Found {
  double processes = 0;           // CPU time of the processes without their devices.
  double threads = 0;             // CPU time of Linux' own threads, beyond the baseline.
  double interrupts = 0;          // Time in interrupts, beyond the baseline.
  double charged = 0;             // By the governors,
  double charged_interrupts = 0;  // of that for interrupts behind requests.
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;       // With EPERM.
  std::size_t kernel_threads = 0;  // That are visible.

  // What the machine did for the attempt.
  [[nodiscard]] double machine() const { return processes + threads + interrupts; }
};

// "refused": every request was. "escaped": the 95 % interval of what the machine does lies above
// the cap and a tolerance for other programs; "charged": it lies below; else "cannot tell". Expects
// at least two rounds.
std::string verdict(const std::vector<Found>& rounds, double cap);

// A row: attempt, processes, cap, rounds; machine, low and high, the ends of its 95 % interval, and
// its parts (of_processes, of_threads, of_interrupts); charged, charged_interrupts; answered and
// refused, of all rounds; kernel_threads; verdict. Expects at least two rounds.
nlohmann::ordered_json row_of(const Attempt& attempt, double cap, const std::vector<Found>& rounds);

// One round: `seconds` without requests, and as long with them.
// Errors: EBUSY, a host limit of the machine for an attempt with one of its own; of the runtime, of
// files in TMPDIR (EINVAL: it has no direct reads), of fork and /proc.
Result<Found> measure(const RuntimeConfig& base, const Attempt& attempt, std::uint32_t cap_permille,
                      double seconds);

}  // namespace k2k::labs::escapes
