// Page faults of device code: many at once, before anything else of their bundle; what needs a disk
// on threads of their own.
//
//   bundle ──▶ bottom half ──▶ batch ──▶ faults out of it ──▶ resolved together ──▶ answered
//                                │                 └─ page not in the cache ─▶ k2k/fault ──▶
//                                answered └─ the rest: calls, which may be stuck
//
// So no fault waits behind a call, and a fault that reads a file waits behind such faults alone.

#include <algorithm>

#include "base/clock.hpp"
#include "server/core/core.hpp"

namespace k2k::server {

namespace {
// More only wait for the same disks.
constexpr std::uint32_t fault_threads_max = 4;
}  // namespace

bool Server::Core::take_faults(ServiceThread& self, std::vector<Pending>& batch) {
  self.faults.clear();
  std::erase_if(batch, [&self](const Pending& call) {
    if (!services::is_fault(call.request)) return false;
    self.faults.push_back({call.request, {}});
    return true;
  });
  return !self.faults.empty();
}

void Server::Core::charge_faults(ServiceThread& self, telemetry::Stage stage, std::uint64_t cycles,
                                 std::span<const services::Fault> faults) {
  const std::uint64_t each = faults.empty() ? 0 : cycles / faults.size();
  for (const services::Fault& fault : faults) self.charge(stage, each, fault.request);
}

bool Server::Core::serve_faults(ServiceThread& self, Role* role) {
  if (role != nullptr) pool_.begins_calls(role->calls_begun);
  bool kept = role != nullptr;
  std::uint32_t served = 0;
  for (std::size_t next = 0; next < self.faults.size(); next += services::faults_max) {
    const std::size_t count = std::min(services::faults_max, self.faults.size() - next);
    const std::span<services::Fault> part(self.faults.data() + next, count);
    admission_.pass(self.account, served);
    served = static_cast<std::uint32_t>(count);
    const std::uint64_t begin = cycles();
    // Memory that is copied may lie on a disk, too: then the role is taken over, as in a call.
    if (kept) self.call.begin();
    self.stats.fault_ranges.add(services::resolve(part, backend::Reading::cached_only));
    if (kept) {
      self.call.end();
      kept = role->word.still_held_by(self.index);
    }
    const std::uint64_t end = cycles();
    charge_faults(self, telemetry::Stage::service, end - begin, part);
    if (kept) {
      answers_.answer_faults(self.stats, self.answered, part, {begin, end});
    } else {
      answers_.answer_faults_late(self.stats, self.answered, part, {begin, end});
    }
    set_aside_faults(part);
  }
  return kept || role == nullptr;
}

void Server::Core::set_aside_faults(std::span<const services::Fault> faults) {
  const auto waits = [](const services::Fault& fault) { return fault.answer.would_wait; };
  if (std::none_of(faults.begin(), faults.end(), waits)) return;
  const std::lock_guard lock(mutex_);
  if (fault_threads_idle_ == 0 && fault_threads_ < fault_threads_max && !stopping_ &&
      threads_.add([this](ServiceThread& self) { read_faults(self); }, "k2k/fault")) {
    ++fault_threads_;
  }
  for (const services::Fault& fault : faults) {
    if (!waits(fault)) continue;
    if (fault_threads_ != 0) {
      waiting_faults_.push_back({fault.request, {}, {}});
    } else {
      pool_.queue({fault.request, {}, {}});  // As any call that may keep its thread.
    }
  }
  faults_there_.notify_one();
}

void Server::Core::read_faults(ServiceThread& self) {
  while (true) {
    self.faults.clear();
    bool stopping = false;
    {
      std::unique_lock lock(mutex_);
      ++fault_threads_idle_;
      faults_there_.wait(lock, [this] { return !waiting_faults_.empty() || stopping_; });
      --fault_threads_idle_;
      stopping = stopping_;
      const std::size_t count = std::min(services::faults_max, waiting_faults_.size());
      for (std::size_t fault = 0; fault < count; ++fault) {
        self.faults.push_back({waiting_faults_.pop_front().request, {}});
      }
    }
    if (self.faults.empty() && stopping) return;
    admission_.pass(self.account, 0);
    const Nanoseconds before = thread_time();
    const std::uint64_t begin = cycles();
    if (stopping || backend_->abandoned()) {
      for (services::Fault& fault : self.faults) fault.answer = {-ECANCELED, false, {}};
    } else {
      self.stats.fault_ranges.add(services::resolve(self.faults, backend::Reading::blocking));
      for (services::Fault& fault : self.faults) {
        // A file that never gives what it has without waiting is no reason to ask for ever.
        if (fault.answer.would_wait) fault.answer = {-EAGAIN, false, {}};
      }
    }
    charge_faults(self, telemetry::Stage::service, cycles_in(thread_time() - before), self.faults);
    answers_.answer_faults_late(self.stats, self.answered, self.faults, {begin, cycles()});
    admission_.leave(self.account);
    self.settle(cycles());
  }
}

}  // namespace k2k::server
