#include "server/pool/fault_desk.hpp"

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"

namespace k2k::server {

namespace {
bool waits(const services::Fault& fault) { return fault.answer.would_wait; }
}  // namespace

bool FaultDesk::take(ServiceThread& self, std::vector<Pending>& batch) {
  self.faults.clear();
  std::erase_if(batch, [&self](const Pending& call) {
    if (!services::is_fault(call.request)) return false;
    self.faults.push_back({call.request, {}});
    return true;
  });
  return !self.faults.empty();
}

void FaultDesk::charge(ServiceThread& self, std::uint64_t cycles,
                       std::span<const services::Fault> faults) {
  const std::uint64_t each = faults.empty() ? 0 : cycles / faults.size();
  for (const services::Fault& fault : faults) {
    self.charge(telemetry::Stage::service, each, fault.request);
  }
}

bool FaultDesk::serve(ServiceThread& self, Role* role) {
  if (role != nullptr) parts_.pool.begins_calls(role->calls_begun, ThreadPool::Writers::one);
  bool kept = role != nullptr;
  std::uint32_t served = 0;
  for (std::size_t next = 0; next < self.faults.size(); next += services::faults_max) {
    const std::size_t count = std::min(services::faults_max, self.faults.size() - next);
    const std::span<services::Fault> part(self.faults.data() + next, count);
    parts_.admission.pass(self.account, served);
    served = static_cast<std::uint32_t>(count);
    const std::uint64_t begin = cycles();
    // The memory to copy may be on a disk, too: mark a call, so that the role can be taken over.
    if (kept) self.call.begin();
    self.stats.fault_ranges.add(parts_.resolve(part, backend::Reading::cached_only));
    if (kept) {
      self.call.end();
      kept = role->word.still_held_by(self.index);
    }
    const std::uint64_t end = cycles();
    charge(self, end - begin, part);
    if (kept) {
      parts_.answers.answer_faults(self.stats, self.answered, part, {begin, end});
    } else {
      parts_.answers.answer_faults_late(self.stats, self.answered, part, {begin, end});
    }
    set_aside(part);
  }
  return kept || role == nullptr;
}

void FaultDesk::set_aside(std::span<const services::Fault> faults) {
  if (std::none_of(faults.begin(), faults.end(), waits) || queue(faults)) return;
  for (const services::Fault& fault : faults) {
    if (waits(fault)) parts_.pool.queue(Pending(fault.request));
  }
}

bool FaultDesk::queue(std::span<const services::Fault> faults) {
  const std::lock_guard lock(mutex_);
  if (idle_ == 0 && threads_ < threads_max && !stopping_ &&
      parts_.threads.add([this](ServiceThread& self) { run(self); }, "k2k/fault")) {
    ++threads_;
  }
  if (threads_ == 0) return false;
  for (const services::Fault& fault : faults) {
    if (waits(fault)) waiting_.push_back(Pending(fault.request));
  }
  changed_.notify_one();
  return true;
}

bool FaultDesk::take_waiting(ServiceThread& self) {
  self.faults.clear();
  std::unique_lock lock(mutex_);
  ++idle_;
  changed_.wait(lock, [this] { return !waiting_.empty() || stopping_; });
  --idle_;
  const std::size_t count = std::min(services::faults_max, waiting_.size());
  for (std::size_t fault = 0; fault < count; ++fault) {
    self.faults.push_back({waiting_.pop_front().request, {}});
  }
  return stopping_;
}

void FaultDesk::run(ServiceThread& self) {
  while (true) {
    const bool stopping = take_waiting(self);
    if (self.faults.empty() && stopping) return;
    parts_.admission.pass(self.account, 0);
    const Nanoseconds before = thread_time();
    const std::uint64_t begin = cycles();
    if (stopping || parts_.backend.abandoned()) {
      for (services::Fault& fault : self.faults) fault.answer = {-ECANCELED, false, {}};
    } else {
      self.stats.fault_ranges.add(parts_.resolve(self.faults, backend::Reading::blocking));
      for (services::Fault& fault : self.faults) {
        // A file that never gives its data without waiting: more tries would not help.
        if (fault.answer.would_wait) fault.answer = {-EAGAIN, false, {}};
      }
    }
    charge(self, cycles_in(thread_time() - before), self.faults);
    parts_.answers.answer_faults_late(self.stats, self.answered, self.faults, {begin, cycles()});
    parts_.admission.leave(self.account);
    self.settle(cycles());
  }
}

void FaultDesk::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

}  // namespace k2k::server
