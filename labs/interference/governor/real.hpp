#pragma once
// What a policy does to real threads: a runtime a row, 64 work-items that read without pause, and
// an observer outside (observer.hpp).
//
// Threading: the caller's thread watches; each row has a runtime and a thread for its launch.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "k2k/runtime.hpp"
#include "labs/interference/governor/random_reads.hpp"

namespace k2k::labs::governor {

// `cap` is a fraction of all cores' CPU time, 0 for `none`; for `auto` it is the loss allowed.
struct RealCase {
  k2k::governor::Policy policy;
  double cap;
};

// `none`, then budget and backoff under each of 1, 5 and 25 %, or under `caps` where some are
// given. Only the policies named, `displaced` and `auto` among them; empty = those three.
// Errors: EINVAL, a cap that is no thousandth.
Result<std::vector<RealCase>> real_cases(const std::vector<k2k::governor::Policy>& policies,
                                         const std::vector<double>& caps);

// The rows, and the reference where `none` is not among them, take 55 s with what is around them: a
// reference behind each, and a bare thread where it has a rhythm to keep; or on a busy machine the
// second in which CPU programs run alone before each.
double real_seconds(const std::vector<RealCase>& cases, bool reference, bool busy);
// The time of a reference that was not asked for.
inline constexpr double reference_seconds = 1.2;
// The time of a bare thread, once on each side of that reference.
inline constexpr double bare_seconds = 0.8;

// Where requests come from, as many as the server takes.
enum class Source : std::uint8_t {
  reads,  // 64 work-items of the cpu backend that read random bytes: the device takes a core.
  trace,  // The load `uniform` on the trace backend: the same services, and no device's thread.
};
const char* name_of(Source source);

class RealLab {
 public:
  // `busy`: CPU programs want each core for this part of the time (busy.hpp); 0 = there are none.
  // Errors: those of RandomReads::create().
  static Result<RealLab> create(const RuntimeConfig& base, std::uint64_t seed, double busy,
                                Source source);

  // Runs for so long, the first half second unseen. The first case must be `none`. A row:
  //
  //   policy, load, cap, share, worst_100ms, throughput, per_cpu_s    as in study.hpp
  //   of_ideal        throughput x service_us / (cap x cores): what is missing is overhead
  //   of_uncapped     the same with the service time without a cap: a core that sleeps between
  //                   batches is slower than one that never does, and that is missing here, too
  //   uncapped_service_us   the two of it, 1.2 s before the row and, unless there are CPU programs,
  //                   behind it: what a core does in a second drifts by a tenth within minutes
  //   of_bare         requests a CPU-second / those of a thread that makes the same reads with the
  //                   row's rhythm on both sides of that reference (RandomReads::bare). null where
  //                   the policy has no batches, for traces, and where there are CPU programs
  //   service_us      CPU time of a request's system call, by the ledger; stage_us of every stage
  //   ledger_share    what the server says of itself
  //   waits           timers a second; forced: requests served in debt, because none may wait for
  //                   ever
  //   busy, cpu_loss  what CPU programs lost against running alone; null without any
  //   device_share    CPU time of the device's own threads, which CPU programs lose too; of `trace`
  //                   the part of the service threads' that they spent on being the device
  //   displaced       the part of share that somebody else wanted; `displaced` only, else null
  //   loss_seen       what the sensors of `auto` took the loss for, else null; sensors
  //
  // The five that compare with something are null for `none`. Errors: those of Runtime::create(),
  // of the load and the observer; EIO, an answer of the trace was wrong.
  Result<nlohmann::ordered_json> row(const RealCase& one, double seconds);

  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  // CPU time of a request's system call, from the last `none`; 0 before.
  [[nodiscard]] double service_us() const { return service_us_; }

 private:
  RealLab(const RuntimeConfig& base, std::uint64_t seed, double busy, Source source,
          RandomReads reads);
  Result<nlohmann::ordered_json> measure(const RealCase& one, double seconds);
  // The reference behind a row, and the bare thread around it.
  Status compare(const RealCase& one, nlohmann::ordered_json& row);

  RuntimeConfig base_;
  std::uint64_t seed_;
  double busy_;
  Source source_;
  RandomReads reads_;
  std::uint32_t cores_;
  double service_us_ = 0;
};

}  // namespace k2k::labs::governor
