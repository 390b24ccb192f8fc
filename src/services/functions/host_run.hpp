#pragma once
// Separates the parts of a host call that touch the caller's memory from the function itself.

namespace k2k::services {

// Between the two, the call may be answered by another thread, because its launch or the runtime
// ended; outside of them, the caller's memory is read and written.
class HostRun {
 public:
  HostRun() = default;
  virtual ~HostRun() = default;
  HostRun(const HostRun&) = delete;
  HostRun& operator=(const HostRun&) = delete;
  // Before the function runs. False: it is not to run.
  virtual bool begins() = 0;
  // After it. False: the call was answered already; nothing is written.
  virtual bool ends() = 0;
};

}  // namespace k2k::services
