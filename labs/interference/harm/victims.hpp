#pragma once
// The victims: programs that have nothing to do with the accelerator, each a process of its own
// with the same work in every run. The laboratory's own loops (loops.hpp), programs of the
// distribution with generated inputs, and programs that the caller names.
//
// Threading: the laboratory's thread, which must be the only thread of its process: run_victim()
// forks.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "labs/interference/harm/user_counters.hpp"

namespace k2k::labs::harm {

struct Victim {
  std::string name = {};
  std::string description = {};
  std::string loop = {};                  // A name of loops.hpp; else the program is executed:
  std::vector<std::string> command = {};  // the program and its arguments. "{input}", "{threads}".
  std::string package = {};               // The package of Debian that has it.
  std::vector<std::string> needs = {};    // Other programs that it starts.
  // The file to which its load generator writes latencies, as redis-benchmark --csv; "": none.
  std::string latencies = {};
  bool one_thread = false;
  std::uint64_t rounds = 0;  // Of a loop.

  // The reason why this machine cannot run it, with the remedy; "" if it can.
  [[nodiscard]] std::string missing() const;
};

// Every victim of the laboratory. `input` is the path of the generated input.
std::vector<Victim> all_victims(const std::string& input, unsigned threads);
// "NAME=COMMAND ARGUMENTS...": the caller's own. Errors: EINVAL.
Result<Victim> victim_of(const std::string& text);
// Writes the input of the distribution's programs: text-like bytes from a seed. Errors: as open(2)
// and write(2), with the path.
Status make_input(const std::string& path, std::size_t bytes, std::uint64_t seed);

struct Usage {
  double wall_s = 0;
  double cpu_s = 0;          // Of all its threads,
  double run_delay_s = 0;    // and their time on a run queue. Of threads and processes that ended
                             // early, as of the last look, every 10 ms.
  std::uint64_t answer = 0;  // Of a loop.
  double tail_s = -1;        // 99th percentile of the latency; -1: it has none.
  Counts counts = {};
};

// The 99th percentile of redis-benchmark's table in seconds. Errors: EIO, it has no such column.
Result<double> tail_of(const std::string& csv);

// Runs a victim to its end. A signal that sets `stopped` kills it. Errors:
//   ECANCELED  stopped
//   ECHILD     it crashed or failed: the message names the signal or the exit status
//   EACCES and others: it could not be started, or its schedstat not read
Result<Usage> run_victim(const Victim& victim, unsigned threads,
                         const volatile std::sig_atomic_t& stopped,
                         const CounterEvents& events = hardware_events());

// The rounds with which a loop takes about `seconds` alone. Errors: as run_victim().
Result<std::uint64_t> rounds_taking(Victim victim, double seconds, unsigned threads,
                                    const volatile std::sig_atomic_t& stopped);

}  // namespace k2k::labs::harm
