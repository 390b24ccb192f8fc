#pragma once
// What a policy does to real threads: a runtime a row, 64 work-items that read without pause, and
// an observer outside (observer.hpp).
//
// Threading: the caller's thread watches; each row has a runtime and a thread for its launch.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "governor/config.hpp"
#include "labs/interference/governor/random_reads.hpp"
#include "runtime/runtime.hpp"

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

// So many rows, and the reference where `none` is not among them, take 55 s with what is around
// them: a reference behind each, or on a busy machine the second in which CPU programs run alone
// before each.
double real_seconds(std::size_t rows, bool reference, bool busy);
// The time of a reference that was not asked for.
inline constexpr double reference_seconds = 1.2;

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

  // Runs for so long, the first half second unseen. The first case must be `none`: the mean service
  // time without a cap, seen before the row and, unless there are CPU programs, again behind it, is
  // that of of_ideal: what a core does in a second drifts by a tenth within minutes. A row: policy,
  // load, cap, share, worst_100ms, throughput, per_cpu_s, of_ideal (null for `none`) as in
  // study.hpp, ideal_service_us (null likewise; the two of of_ideal), service_us (this row's own
  // mean service time, which of_ideal does not use), ledger_share (what the server says of itself),
  // waits (timers a second), forced (requests served in debt, because none may wait for ever),
  // busy, cpu_loss (what CPU programs lost against running alone; null without any), device_share
  // (CPU time of the device's own threads, which CPU programs lose too; of `trace` the part of the
  // service threads' that they spent on being the device, among share), displaced (the part of
  // share that somebody else wanted; `displaced` only, else null), loss_seen (what the sensors of
  // `auto` took the loss for, else null) and sensors. Errors: those of Runtime::create(), of the
  // load and the observer; EIO, an answer of the trace was wrong.
  Result<nlohmann::ordered_json> row(const RealCase& one, double seconds);

  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  // CPU time of a request's system call, from the last `none`; 0 before.
  [[nodiscard]] double service_us() const { return service_us_; }

 private:
  RealLab(const RuntimeConfig& base, std::uint64_t seed, double busy, Source source,
          RandomReads reads);
  Result<nlohmann::ordered_json> measure(const RealCase& one, double seconds);

  RuntimeConfig base_;
  std::uint64_t seed_;
  double busy_;
  Source source_;
  RandomReads reads_;
  std::uint32_t cores_;
  double service_us_ = 0;
};

}  // namespace k2k::labs::governor
