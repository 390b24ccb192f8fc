#include "apps/graph500/machine.hpp"

#include <chrono>
#include <cstring>

namespace k2k::graph500 {

Status DeviceMachine::run(Work work, const Job& job) {
  const auto report = launch_step(runtime_, shape_, work, job);
  if (!report) return report.error();
  seconds_ += std::chrono::duration<double>(report->elapsed).count();
  return {};
}

Status DeviceMachine::copy(void* to, const void* from, std::size_t bytes) {
  return runtime_.copy(to, from, bytes);
}

Result<std::unique_ptr<HostMachine>> HostMachine::create(std::uint32_t threads,
                                                         std::uint32_t parts) {
  auto team = apps::PartThreads::create(threads);
  if (!team) return team.error();
  return std::unique_ptr<HostMachine>(new HostMachine(std::move(team.value()), parts));
}

Status HostMachine::run(Work work, const Job& job) {
  threads_->run(parts_, [&](std::uint32_t part) { Step(job).run(work, part, parts_); });
  return {};
}

Status HostMachine::copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

}  // namespace k2k::graph500
