#pragma once
// The sources of requests beside the victims: each a process of its own with a runtime whose device
// is a trace, so that the device takes no core. The source "kernel" is device code instead, on the
// backend of the configuration: a GPU takes no core, either; the cpu backend takes several.
//
//   laboratory ── fork ─▶ runtime, memory ── ready ─▶ replays or computes, or only exists (twin)
//              ── a byte ─▶ counts from now on
//              ── the pipe closes ─▶ ends ── report ─▶ laboratory
//
// A signal that sets `stopped` ends each wait for a source within wait_step: a read that a signal
// interrupts is not enough, because the signal may come just before the read.
//
// Threading: the laboratory's thread, the only one of its process.

#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "k2k/runtime.hpp"
#include "k2k/trace.hpp"
#include "labs/interference/harm/kernel_reads.hpp"

namespace k2k::labs::harm {

enum class Arm : std::uint8_t {
  alone,    // No source.
  twin,     // A runtime with the same settings and memory, and no request.
  no_op,    // The same number of requests a second, each a no-op.
  service,  // The source itself.
};
const char* name_of(Arm arm);

inline constexpr const char* kernel_source = "kernel";
// The traces of the GPU programs that the paper has beside its microbenchmark.
inline constexpr std::array program_sources = {"bfs", "bpt", "spmv", "sssp", "xsbench"};

// The sources by name: "ubench", a fault for every access, as fast as the host serves; the other
// generators, recorded once as traces (labs/interference/traces); "kernel", reads by a kernel
// (kernel_reads.hpp); the loads of Trace::named(); a file of a trace.
std::vector<std::string> source_names();
// A part of a source's requests, to be replayed again and again; of "kernel", of no use. Errors: as
// Trace, naming the source or the file and the line.
Result<Trace> source_of(const std::string& name, std::uint64_t seed);
// No-ops at an even rate, for one second and more.
Result<Trace> no_ops(double rate);

// Several sources at a time, each with a runtime and a process of its own, under a host limit.
struct Crowd {
  unsigned devices = 1;
  double limit = 0;  // Of all cores' CPU time, for all of them together; 0: none.
};
inline constexpr std::uint32_t devices_max = 64;
// The words "devices=8" and "limit=5%" of a setting. Errors: EINVAL.
Result<Crowd> crowd_of(const std::string& words);

// The settings of the server by words: "staged", "split" or "monolithic", "steer" (to one core),
// "coalesce" (13 us), "cap=5%", "governor=NAME", "loss=5%" (the policy `auto`), and the words of
// crowd_of(), joined by "+". "default": as configured. Errors: EINVAL.
Result<server::ServerConfig> setting_of(const std::string& words, server::ServerConfig config);

struct SourceReport {
  double seconds = 0;          // From count() to end(),
  std::uint64_t requests = 0;  // and the requests answered in that time.
  std::uint64_t errors = 0;
  double delay_p50_us = 0;
  double delay_p99_us = 0;
  double service_cpu_s = 0;   // Of the service threads, the device's part included,
  double device_cpu_s = 0;    // and this part.
  double governor_cpu_s = 0;  // Of the governor's own thread.
  std::uint64_t wakes = 0;
  std::uint64_t preprocess_wakes = 0;
  std::uint64_t preprocessed = 0;

  [[nodiscard]] double rate() const {
    return seconds > 0 ? static_cast<double>(requests) / seconds : 0;
  }
};

inline constexpr std::chrono::milliseconds wait_step{50};

// `trace` is not used by a twin, and neither is used with `kernel`, which launches reads on the
// backend of the configuration.
struct SourcePlan {
  const RuntimeConfig& config;
  Arm arm = Arm::service;
  const Trace& trace;
  LaunchReads kernel = nullptr;
  std::string host_dir = {};  // K2K_HOST_DIR of the source; "": as inherited.
};

// A source that runs. The destructor kills it.
class SourceProcess {
 public:
  // Returns once the source replays, or the twin exists. `stopped` outlives the source. Errors: as
  // fork(2), Runtime::create() and Trace::replay(); ECANCELED, stopped.
  static Result<SourceProcess> start(const SourcePlan& plan,
                                     const volatile std::sig_atomic_t& stopped);
  ~SourceProcess();
  SourceProcess(SourceProcess&& other) noexcept;
  SourceProcess& operator=(SourceProcess&&) = delete;

  // The report counts from now on, and not from the start.
  Status count();
  // Ends it. Errors: ECHILD, it crashed; ECANCELED, stopped; those of the replay.
  Result<SourceReport> end();

 private:
  SourceProcess(pid_t child, Descriptor control, Descriptor reports,
                const volatile std::sig_atomic_t& stopped)
      : child_(child),
        control_(std::move(control)),
        reports_(std::move(reports)),
        stopped_(&stopped) {}

  pid_t child_ = -1;
  Descriptor control_;  // Closing it ends the source.
  Descriptor reports_;
  const volatile std::sig_atomic_t* stopped_;
};

}  // namespace k2k::labs::harm
