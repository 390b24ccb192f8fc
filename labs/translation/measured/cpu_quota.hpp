#pragma once
// A limit of the CPU time of some threads of this process, by a cgroup of Linux: a proxy for a
// slower clock, which a virtual machine cannot set. The threads run at full speed for 1 ms and then
// rest, so the proxy slows what takes longer than that, on average, and no single instruction.
//
// Needs the right to make a cgroup: root, in most places. Version 1 (cpu.cfs_quota_us) and version
// 2 (cpu.max, in a threaded group).
//
// Threading: one thread.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.hpp"

namespace k2k::labs::translation {

// Where a process with this text of /proc/self/cgroup makes a group for the controller cpu.
struct CpuGroupPlace {
  std::string folder;   // Empty: nowhere.
  bool second = false;  // Version 2.
};
CpuGroupPlace cpu_group_place(const std::string& cgroups);

// The threads of this process whose names begin so.
std::vector<pid_t> threads_named(const std::string& beginning);

class CpuQuota {
 public:
  // Errors: those of mkdir(2) and write(2); ENOTSUP (no controller). Each with the remedy.
  static Result<CpuQuota> create();
  // The threads are free again.
  ~CpuQuota();
  CpuQuota(CpuQuota&& other) noexcept;
  CpuQuota& operator=(CpuQuota&&) = delete;
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  // Threads that they start later belong to them. Errors: as write(2).
  [[nodiscard]] Status hold(const std::vector<pid_t>& threads) const;
  // At most this part of one core for all of them together; 1: no limit. Expects 0.01 to 1. Errors:
  // as write(2).
  [[nodiscard]] Status limit(double share) const;

 private:
  CpuQuota(CpuGroupPlace place, std::string group)
      : place_(std::move(place)), group_(std::move(group)) {}

  CpuGroupPlace place_;
  std::string group_;  // Empty: moved from.
};

}  // namespace k2k::labs::translation
