#include "server/core/host_desk.hpp"

#include <cerrno>
#include <optional>

#include "base/clock.hpp"
#include "server/govern/kernel_work.hpp"

namespace k2k::server {

// A call on a thread of the desk, in a list from construction to destruction.
class HostDesk::Running : public services::HostRun {
 public:
  enum class Stage : std::uint8_t { opening, running, settling, disowned };

  Running(HostDesk& desk, const Pending& call) : desk_(desk), call_(call) {
    const std::lock_guard lock(desk_.mutex_);
    // stop() may have returned: the caller's memory may be gone.
    if (desk_.stopping_) stage_ = Stage::settling;
    next_ = desk_.first_;
    desk_.first_ = this;
  }
  ~Running() override {
    const std::lock_guard lock(desk_.mutex_);
    Running** place = &desk_.first_;
    while (*place != this) place = &(*place)->next_;
    *place = next_;
    desk_.settled_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  bool begins() override {
    const std::lock_guard lock(desk_.mutex_);
    // A thread that abandons the launch looks at the list afterwards, so one of the two threads
    // sees the other.
    stage_ = Stage::running;
    const bool over =
        desk_.stopping_ || (!call_.request.detached() && desk_.parts_.backend.abandoned());
    if (over) stage_ = Stage::settling;
    return !over;
  }
  bool ends() override {
    const std::lock_guard lock(desk_.mutex_);
    if (stage_ == Stage::disowned) return false;
    stage_ = Stage::settling;
    return true;
  }

  // Called by its own thread while the function does not run.
  [[nodiscard]] bool may_open() const { return stage_ == Stage::opening; }

 private:
  friend class HostDesk;
  HostDesk& desk_;
  const Pending& call_;
  Stage stage_ = Stage::opening;  // Under the desk's lock; `disowned` is final.
  Running* next_ = nullptr;
};

void HostDesk::add_threads() {
  if (!has_clerk_) {
    has_clerk_ =
        parts_.threads.add([this](ServiceThread& self) { answer_disowned(self); }, "k2k/clerk");
  }
  if (idle_ <= waiting_.size() && threads_ < threads_max &&
      parts_.threads.add([this](ServiceThread& self) { work(self); }, "k2k/host")) {
    ++threads_;
  }
}

bool HostDesk::take(const Pending& call) {
  if (!services::is_host_call(call.request)) return false;
  const std::lock_guard lock(mutex_);
  // All threads may be in functions that never return, and abandon() has already looked at the
  // queue: run() answers with ECANCELED.
  if (stopping_ || (!call.request.detached() && parts_.backend.abandoned())) return false;
  add_threads();
  if (threads_ == 0) return false;
  waiting_.push_back(call);
  changed_.notify_one();
  return true;
}

bool HostDesk::take_waiting(Pending& call) {
  std::unique_lock lock(mutex_);
  ++idle_;
  changed_.wait(lock, [this] { return !waiting_.empty() || stopping_; });
  --idle_;
  if (stopping_) return false;  // Answers::refuse_the_rest() answers the calls in the queue.
  call = waiting_.pop_front();
  return true;
}

void HostDesk::work(ServiceThread& self) {
  Pending call;
  while (take_waiting(call)) {
    parts_.admission.pass(self.account, 0);
    run(self, call);
    parts_.admission.leave(self.account);
    self.settle(cycles());
  }
}

void HostDesk::run(ServiceThread& self, Pending call) {
  if (call.begun == 0) call.begun = cycles();
  const Nanoseconds before = thread_time();
  Running running(*this, call);
  std::int64_t value = -ECANCELED;
  if (running.may_open()) {
    std::optional<KernelWork> others;
    if (services::is_print(call.request)) {
      others.emplace(parts_.admission, services::write_of_print(call.request));
    }
    value = functions_->run(call.request, system_calls_->interruption(), parts_.files, running);
  }
  const bool is_own = running.ends();  // A refused call has not called ends() yet.
  // The time is charged although another thread may have answered.
  self.charge(telemetry::Stage::service, cycles_in(thread_time() - before), call.request);
  if (is_own) answer(self, call, value);
}

void HostDesk::answer(ServiceThread& self, const Pending& call, std::int64_t value) {
  const std::uint64_t done = cycles();
  parts_.answers.answer_late(self.stats, call.request, value,
                             {call.begun == 0 ? done : call.begun, done});
  self.charge(telemetry::Stage::completion, cycles() - done, call.request);
}

// --- Calls whose launch or server ends.

void HostDesk::disown(bool detached_too) {
  for (Running* at = first_; at != nullptr; at = at->next_) {
    if (at->stage_ != Running::Stage::running) continue;
    if (!detached_too && at->call_.request.detached()) continue;
    at->stage_ = Running::Stage::disowned;
    disowned_.push_back(at->call_);
  }
}

void HostDesk::abandon() {
  const std::lock_guard lock(mutex_);
  if (!has_clerk_) return;
  disown(false);
  for (std::size_t left = waiting_.size(); left != 0; --left) {
    const Pending call = waiting_.pop_front();
    (call.request.detached() ? waiting_ : disowned_).push_back(call);
  }
  for_clerk_.notify_one();
}

void HostDesk::answer_disowned(ServiceThread& self) {
  std::unique_lock lock(mutex_);
  while (true) {
    for_clerk_.wait(lock, [this] { return !disowned_.empty() || stopping_; });
    if (stopping_) return;  // Answers::refuse_the_rest() answers.
    while (!disowned_.empty()) {
      const Pending call = disowned_.pop_front();
      lock.unlock();
      answer(self, call, -ECANCELED);
      lock.lock();
    }
    self.settle(cycles());
  }
}

void HostDesk::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  for_clerk_.notify_all();
  disown(true);
  settled_.wait(lock, [this] {
    for (const Running* at = first_; at != nullptr; at = at->next_) {
      if (at->stage_ != Running::Stage::disowned) return false;
    }
    return true;
  });
}

}  // namespace k2k::server
