#pragma once
// The pool of service threads: gives work to idle threads, and watches the roles.
//
//   next_work():  a vacant role ─▶ the stage (staged), attempts, bundles (split mode) ─▶ a call
//                 that may keep the thread
//                 nothing: one idle thread watches the roles, the others sleep
//
// One thread stays idle, so that a role can change hands. When the last idle thread takes work the
// pool starts another thread; at its maximum it wakes the guard (core/guard.hpp).
//
// One lock guards idle threads, vacant roles and queued calls, because they change together: a
// thread that hands its role over decides by the number of idle threads, takes the newest call and
// leaves the role to another thread in one step.
//
// Threading: from anywhere. Lock order: this lock, then SplitQueue or ServiceThreads.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/backend.hpp"
#include "base/asymmetric_barrier.hpp"
#include "server/govern/admission.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/split_queue.hpp"
#include "server/pool/watch_ticks.hpp"

namespace k2k::server {

class ThreadPool {
 public:
  // The functions of the threads: `work` calls next_work() repeatedly, `guard` calls
  // next_for_guard().
  struct Mains {
    ServiceThreads::Main work;
    ServiceThreads::Main guard;
  };
  struct Parts {
    backend::Backend& backend;
    Admission& admission;
    ServiceThreads& threads;
    Roles& roles;
    SplitQueue& split;
    RequestPlaces& places;
  };
  explicit ThreadPool(const Parts& parts) : parts_(parts), calls_(parts.places) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Call once, before the first worker is added.
  void run(Mains mains) { mains_ = std::move(mains); }
  // Returns false if the system gives fewer threads, or no memory for one.
  bool add_workers(int count);

  enum class Task : std::uint8_t { role, rescue, attempt, bundle, stage, call, end };
  struct Work {
    Task task = Task::end;
    Role* role = nullptr;
    Bundle bundle;
    Pending call;
  };
  // Blocks until there is work for this thread. `rescue`: a unit that served `role` is stuck.
  Work next_work(ServiceThread& self);
  // The thread has finished its work.
  void finish_work();

  // Queues a call for a thread that the call may keep.
  void queue(const Pending& call);
  // Queues calls that would wait, from a role's holder. Returns true if the holder has handed its
  // role to another thread and must make the call `first` itself: this saves a wake. Clears
  // `calls`.
  bool queue_or_follow(ServiceThread& self, Role& role, std::vector<Pending>& calls, bool may_go,
                       Pending& first);
  // Wakes a thread because the split queue has work.
  void wake_one();

  // The threads that may write to a counter at one time.
  enum class Writers : std::uint8_t { one, several };
  // Called by a thread before it makes calls, so that the watcher looks. Counts in `announced`: the
  // counter of the role that the thread holds has one writer, that of the split queue has several.
  void begins_calls(std::atomic<std::uint64_t>& announced, Writers writers) {
    // Pairs with the heavy barrier of watch().
    if (writers == Writers::several) {
      announced.fetch_add(1);
    } else {
      announced.store(announced.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    if (light_barrier_then_load(watcher_asleep_) != 0) [[unlikely]]
      wake_watcher();
  }

  // Called by the holder of a role that is not wanted any more.
  void leave(ServiceThread& self, Role& role);
  // Called by a thread that rescued requests of a unit; `holds`: it still has the role.
  void end_rescue(ServiceThread& self, Role& role, bool holds);
  // Sleeps while this role is wanted.
  void stand_by(const Role& role, Nanoseconds longest);

  enum class GuardTask : std::uint8_t {
    role,   // A role for the guard, held or on units.
    split,  // Bundles or attempts wait for a thread of the pool.
    end,    // stop() was called.
  };
  struct GuardWork {
    GuardTask task = GuardTask::end;
    Role* role = nullptr;
  };
  // Blocks while a thread is idle.
  GuardWork next_for_guard(ServiceThread& self);
  // Gives the guard's role back and returns true if a thread is idle or the role is not wanted.
  bool relieve_guard(ServiceThread& self, Role& role);

  // Returns once no role and no stage is held and no bundle is queued or being accepted. No ring is
  // polled until resume().
  void pause();
  void resume(const ServerConfig& config);
  // Each thread ends when there is no work left.
  void stop();
  // After stop(): takes the roles from threads that stay in a call. Returns once the other threads
  // have left their roles and accepted their bundles.
  void abandon_roles();

 private:
  bool add_worker_locked();  // This and the next four expect mutex_ held.
  bool pick(ServiceThread& self, Work& work);
  Role* take_over_stuck(ServiceThread& self);
  // Returns true if a thread can take a role that its holder leaves.
  [[nodiscard]] bool may_follow() const;
  [[nodiscard]] WatchTicks::Seen seen() const;
  // The watcher's loop; ends with work, perhaps a role that it took over.
  void watch(ServiceThread& self, Work& work, std::unique_lock<std::mutex>& lock);
  void wake_watcher();

  const Parts parts_;
  Mains mains_;
  std::atomic<std::uint32_t> watcher_asleep_{0};  // 1: the watcher is woken by begun calls.

  std::mutex mutex_;  // Guards the members below, and the vacant and held roles.
  std::condition_variable work_there_;
  std::condition_variable role_left_;
  std::condition_variable stand_by_over_;  // Notified when no role is wanted.
  std::condition_variable guard_wanted_;
  RequestQueue calls_;
  std::uint32_t workers_max_ = 0;  // Set by resume(), as are the next two.
  Nanoseconds takeover_{};
  bool split_mode_ = false;
  std::uint32_t workers_ = 0;
  std::uint32_t idle_ = 0;  // Workers in next_work().
  bool watched_ = false;    // One of them is the watcher.
  WatchTicks ticks_;
  bool guard_started_ = false;
  bool stopping_ = false;
};

}  // namespace k2k::server
