#pragma once
// The effect of a policy on real threads: one runtime per row, 64 work-items that read without
// pause, and an external observer (observer.hpp).
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

// `cap` is a fraction of all cores' CPU time, 0 for `none`; for `auto` it is the permitted loss.
struct RealCase {
  k2k::governor::Policy policy;
  double cap;
};

// `none`, then budget and backoff under each of 1, 5 and 25 %, or under `caps` if it is not empty.
// `policies` selects among all policies, including `displaced` and `auto`; empty selects these
// three. Errors: EINVAL, a cap that is not a multiple of 0.001.
Result<std::vector<RealCase>> real_cases(const std::vector<k2k::governor::Policy>& policies,
                                         const std::vector<double>& caps);

// All rows together take 55 s, including the reference (if `none` is not a row) and the time around
// each row: a reference after it, and a bare thread if the policy has batches; or, with CPU
// programs, one pair (see CpuPrograms).
double real_seconds(const std::vector<RealCase>& cases, bool reference, bool busy);
// The duration of a reference that is not a row.
inline constexpr double reference_seconds = 1.2;
// The duration of a bare thread's run, once before and once after that reference.
inline constexpr double bare_seconds = 0.8;

// The source of requests; each keeps the server saturated.
enum class Source : std::uint8_t {
  reads,  // 64 work-items of the cpu backend read random bytes: the device takes a core.
  trace,  // The load `uniform` on the trace backend: the same services, but no device thread.
};
const char* name_of(Source source);

// CPU programs beside the load (busy.hpp).
struct CpuPrograms {
  double busy = 0;  // The fraction of the time in which they want each core; 0: there are none.
  // How often their rates beside the load and alone are compared, 1.3 s for each, in an order that
  // the seed draws.
  std::uint32_t pairs = 1;
};
// From so many pairs on, the loss has an interval.
inline constexpr std::size_t pairs_of_an_interval = 6;
// The part of a row about the programs' loss, from the logarithms of their rate beside the load
// divided by their rate alone, one for each pair.
nlohmann::ordered_json loss_in_pairs(const std::vector<double>& logarithms, std::uint64_t seed);

class RealLab {
 public:
  // Errors: as RandomReads::create().
  static Result<RealLab> create(const RuntimeConfig& base, std::uint64_t seed, CpuPrograms programs,
                                Source source);

  // Measures a service without a cap, if `none` is not a row. Errors: as row().
  Status reference();
  // Runs for so long; the first half second is not measured. Expects `none` or reference() before
  // the first other case. A row:
  //
  //   policy, load, cap, share, worst_100ms, throughput, per_cpu_s    as in study.hpp
  //   of_ideal        throughput x service_us / (cap x cores): the missing part is overhead
  //   of_uncapped     the same with the service time without a cap: a core that sleeps between
  //                   batches is slower than a core that never sleeps, and that is missing too
  //   uncapped_service_us   the two reference times: 1.2 s before the row and, unless there are CPU
  //                   programs, after it (a core's speed drifts by a tenth within minutes)
  //   of_bare         requests per CPU-second / the same of a plain thread that makes these reads
  //                   with the row's rhythm, before and after that reference (RandomReads::bare).
  //                   null if the policy has no batches, for traces, and with CPU programs
  //   service_us      CPU time of a request's system call, by the ledger; stage_us of every stage
  //   ledger_share    the share by the server's own ledger
  //   waits           timers a second; forced: requests served in debt, because no request may wait
  //                   for ever
  //   busy, cpu_loss  the CPU programs' loss against running alone, the geometric mean of the
  //   pairs;
  //                   null without CPU programs
  //   cpu_loss_low, cpu_loss_high, cpu_loss_pairs   its 95 % interval (pairs.hpp); null for less
  //                   than six pairs
  //   device_share    CPU time of the device's own threads, which CPU programs lose, too; with the
  //                   load `trace`: the CPU time that service threads spent as the device
  //   displaced       the part of the share that other programs wanted; null unless `displaced`
  //   loss_seen       the loss as the sensors of `auto` estimate it, else null; sensors
  //
  // The five comparisons are null for `none`. Errors: as Runtime::create(), the load and the
  // observer; EIO, an answer of the trace was wrong.
  Result<nlohmann::ordered_json> row(const RealCase& one, double seconds);

  [[nodiscard]] std::uint32_t cores() const { return cores_; }
  // CPU time of a request's system call, from the last `none`; 0 before that.
  [[nodiscard]] double service_us() const { return service_us_; }

 private:
  RealLab(const RuntimeConfig& base, std::uint64_t seed, CpuPrograms programs, Source source,
          RandomReads reads);
  Result<nlohmann::ordered_json> measure(const RealCase& one, double seconds, std::size_t pairs);
  // Measures the reference after a row, and the bare thread around it.
  Status compare(const RealCase& one, nlohmann::ordered_json& row);

  RuntimeConfig base_;
  std::uint64_t seed_;
  CpuPrograms programs_;
  Source source_;
  RandomReads reads_;
  std::uint32_t cores_;
  double service_us_ = 0;
};

}  // namespace k2k::labs::governor
