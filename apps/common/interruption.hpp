#pragma once
// Ctrl-C (SIGINT, and SIGTERM and SIGHUP) during a run whose results so far are worth printing: the
// run ends at its next check, and a kernel at once. A second signal ends the process.
//
//   Interruption interruption(&runtime);
//   for (...) {
//     if (interruption.signal() != 0) break;
//     runtime.launch(...);                    // ECANCELED if the signal comes meanwhile.
//   }
//
// Threading: made and ended on one thread, one at a time in a process; signal() from any thread.

#include <csignal>
#include <iterator>

#include "k2k/runtime.hpp"

namespace k2k::apps {

class Interruption {
 public:
  // `runtime`, or nullptr, has its launch cancelled; it must outlive this object.
  explicit Interruption(Runtime* runtime);
  // The signals do again what they did before.
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // The signal that came, or 0.
  [[nodiscard]] static int signal();

 private:
  static constexpr int numbers_[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(numbers_)] = {};
};

}  // namespace k2k::apps
