#pragma once
// Takes the evidence of one machine, look after look, and compares it.
//
// Threading: one thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/watch/bpf/tracer.hpp"
#include "cli/watch/report.hpp"

namespace k2k::watch {

class Watcher {
 public:
  // With `bpf`, tracepoints are used where they can be; no_trace() is the reason where they cannot.
  Watcher(Roots roots, Rules rules, bool bpf);

  // Errors: as take_snapshot(); EIO, the programs' sums cannot be read.
  Result<Evidence> look();
  // The own cost counts since the watcher was made; what the process took before is its start.
  Report since(const Evidence& before, const Evidence& after);
  [[nodiscard]] const std::string& no_trace() const { return no_trace_; }

 private:
  Roots roots_;
  Rules rules_;
  std::unique_ptr<Tracer> tracer_;
  std::string no_trace_;
  Instant begun_;
  double cpu_at_begin_s_;
  std::vector<std::string> known_;  // The interrupts of `owners_`, by their lines.
  std::map<unsigned, InterruptOwner> owners_;
};

}  // namespace k2k::watch
