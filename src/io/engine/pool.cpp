// The thread-based engine for calls that wait, pread and pwrite or others: asynchronous without
// io_uring.
//
// owner: submit ──▶ waiting ──▶ a thread: one transfer ──▶ completed ──▶ owner: poll
//
// Idle threads sleep. The owner is woken once, when as many transfers are completed as it waits
// for.

#include "io/engine/pool.hpp"

#include <pthread.h>
#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/own_process.hpp"
#include "base/signals_blocked.hpp"
#include "io/engine/blocking.hpp"
#include "io/engine/engine.hpp"
#include "io/engine/fixed_queue.hpp"

namespace k2k::io {

namespace {

constexpr std::uint32_t threads_max = 64;

// State shared by the owner and the threads, under one lock.
class Exchange {
 public:
  explicit Exchange(std::uint32_t outstanding) : waiting_(outstanding), completed_(outstanding) {}

  void hand_over(std::span<const Transfer> transfers) {
    std::size_t woken = 0;
    {
      const std::lock_guard lock(mutex_);
      for (const Transfer& transfer : transfers) waiting_.push(transfer);
      woken = std::min(transfers.size(), idle_);
    }
    for (; woken > 0; --woken) work_.notify_one();
  }

  std::size_t take(std::span<Completion> into, std::size_t least) {
    std::unique_lock lock(mutex_);
    wanted_ = least;
    enough_.wait(lock, [&] { return completed_.size() >= least; });
    wanted_ = 0;
    const std::size_t count = std::min(into.size(), completed_.size());
    for (Completion& completion : into.first(count)) completion = completed_.pop();
    return count;
  }

  void work(const Serve& serve) {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      work_.wait(lock, [this] { return waiting_.size() > 0 || ending_; });
      --idle_;
      if (waiting_.size() == 0) return;
      const Transfer transfer = waiting_.pop();
      lock.unlock();
      const Completion completion{transfer.tag, serve(transfer)};
      lock.lock();
      completed_.push(completion);
      if (wanted_ > 0 && completed_.size() >= wanted_) enough_.notify_one();
    }
  }

  // The threads leave when nothing is waiting any more.
  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    work_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable enough_;
  FixedQueue<Transfer> waiting_;
  FixedQueue<Completion> completed_;
  std::size_t idle_ = 0;
  std::size_t wanted_ = 0;  // Completions that the owner sleeps for.
  bool ending_ = false;
};

// An exchange and its threads, which are there as long as it is.
class Workers {
 public:
  Workers(std::uint32_t outstanding, Serve serve, std::function<void()> enter)
      : exchange_(outstanding), serve_(std::move(serve)), enter_(std::move(enter)) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    exchange_.end();
    for (std::thread& thread : threads_) thread.join();
  }

  [[nodiscard]] Exchange& exchange() { return exchange_; }

  Status start(std::uint32_t threads) {
    threads_.reserve(threads);
    const SignalsBlocked guard;
    try {
      while (threads_.size() < threads) {
        threads_.emplace_back([this] {
          const OwnThread own;
          pthread_setname_np(pthread_self(), "k2k/io");
          if (enter_) enter_();
          exchange_.work(serve_);
        });
      }
    } catch (const std::system_error& failure) {
      return Error{EAGAIN,
                   fmt::format("transfers: thread {} of {} could not be started ({}); raise "
                               "the limit on processes: ulimit -u",
                               threads_.size() + 1, threads, failure.what())};
    }
    return {};
  }

 private:
  Exchange exchange_;
  const Serve serve_;
  const std::function<void()> enter_;
  std::vector<std::thread> threads_;
};

class Pool final : public Engine {
 public:
  Pool(const Capabilities& capabilities, std::unique_ptr<Workers> workers)
      : capabilities_(capabilities), workers_(std::move(workers)), creator_(::getpid()) {}

  ~Pool() override {
    // A child of fork() has the object without its threads, so it must not wait for them.
    if (creator_ != ::getpid()) static_cast<void>(workers_.release());
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t outstanding() const override { return outstanding_; }

  std::size_t submit(std::span<const Transfer> transfers) override {
    const std::size_t room = capabilities_.outstanding_max - outstanding_;
    const std::size_t count = std::min(transfers.size(), room);
    workers_->exchange().hand_over(transfers.first(count));
    outstanding_ += count;
    return count;
  }

  std::size_t poll(std::span<Completion> into, std::size_t least) override {
    const std::size_t reachable = std::min({least, into.size(), outstanding_});
    const std::size_t count = workers_->exchange().take(into, reachable);
    outstanding_ -= count;
    return count;
  }

 private:
  Capabilities capabilities_;
  std::unique_ptr<Workers> workers_;
  std::size_t outstanding_ = 0;
  pid_t creator_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_threads(const Capabilities& capabilities,
                                             std::uint32_t threads, Serve serve,
                                             std::function<void()> enter) {
  const std::uint32_t outstanding = capabilities.outstanding_max;
  if (Status status = check_outstanding(outstanding); !status) return status.error();
  if (threads < 1 || threads > threads_max) {
    return Error{EINVAL, fmt::format("transfers: {} threads: give 1 to {}", threads, threads_max)};
  }
  auto workers = std::make_unique<Workers>(outstanding, std::move(serve), std::move(enter));
  if (Status status = workers->start(threads); !status) return status.error();
  return std::unique_ptr<Engine>(std::make_unique<Pool>(capabilities, std::move(workers)));
}

Result<std::unique_ptr<Engine>> make_pool(std::uint32_t outstanding, std::uint32_t threads) {
  return make_threads({"pool", true, outstanding}, threads,
                      [](const Transfer& transfer) { return transfer_now(transfer).result; });
}

}  // namespace k2k::io
