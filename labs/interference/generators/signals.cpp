// Signals from the device (HISS, table I; thesis, section 3.8.2, signal-search): each result is
// sent to the process by rt_sigqueueinfo(2) with its value, and a thread of the process takes it.

#include "labs/interference/generators/signals.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "labs/interference/generators/counter_random.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

constexpr int look_ms = 10;  // Between two checks for the end.

// Takes signals of one number from a descriptor. The number is blocked in the calling thread, and
// so in the threads that it starts; threads of the runtime block every signal.
//
// Threading: made and ended by one thread; values() after end().
class Collector {
 public:
  explicit Collector(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Collector() {
    end();
    if (fd_ >= 0) ::close(fd_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  Status begin() {
    if (fd_ < 0) return Error{errno, fmt::format("no signalfd ({}); ulimit -n", strerror(errno))};
    try {
      thread_ = std::thread([this] { collect(); });
    } catch (const std::system_error& failure) {
      return Error{EAGAIN,
                   fmt::format("no thread to take signals with ({}); ulimit -u", failure.what())};
    }
    return {};
  }
  // Takes the pending signals, then stops.
  void end() {
    over_.store(true, std::memory_order_relaxed);  // join() orders the rest.
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] const std::vector<std::uint64_t>& values() const { return values_; }

 private:
  void collect() {
    bool last = false;
    while (!last) {
      last = over_.load(std::memory_order_relaxed);
      pollfd watched{fd_, POLLIN, 0};
      if (!last) ::poll(&watched, 1, look_ms);
      take_pending();
    }
  }
  void take_pending() {
    std::array<signalfd_siginfo, 64> taken{};
    while (true) {
      const ssize_t bytes = ::read(fd_, taken.data(), sizeof(taken));
      if (bytes <= 0) return;  // EAGAIN: none is pending.
      const auto count = static_cast<std::size_t>(bytes) / sizeof(taken[0]);
      for (std::size_t one = 0; one < count; ++one) values_.push_back(taken[one].ssi_ptr);
    }
  }

  int fd_ = -1;
  sigset_t before_{};
  std::atomic<bool> over_{false};
  std::vector<std::uint64_t> values_;  // Used only by the thread until it has ended.
  std::thread thread_;
};

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

class Signals : public Workload {
 public:
  Signals(Input<std::uint64_t> values, std::uint32_t tries, Output<std::int32_t> sent)
      : values_(std::move(values)), tries_(tries), sent_(std::move(sent)) {}

  Status run(Runtime& runtime) override {
    const int number = SIGRTMAX - 2;
    Collector collector(number);
    if (Status status = collector.begin(); !status) return status;
    const SignalsKernel kernel{values_.data(), sent_.data(), sent_.size(),
                               ::getpid(),     number,       tries_};
    Status done = launch_kernel(runtime, shape_on(runtime), kernel, "signals");
    collector.end();
    received_.assign(collector.values().begin(), collector.values().end());
    return done;
  }

  // The answer of each call, and the received values, in any order.
  std::vector<double> answers() override {
    std::vector<double> all(sent_.begin(), sent_.end());
    const std::vector<double> came = sorted(received_);
    all.insert(all.end(), came.begin(), came.end());
    return all;
  }
  std::vector<double> reference() override {
    std::vector<double> all(sent_.size(), 0);
    std::vector<double> values;
    for (std::size_t place = 0; place < values_.size(); ++place) {
      values.push_back(static_cast<double>(values_[place]));
    }
    values = sorted(std::move(values));
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {values_.region()};
  }

 private:
  Input<std::uint64_t> values_;
  std::uint32_t tries_;
  Output<std::int32_t> sent_;
  std::vector<double> received_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_signals_with(Runtime& runtime, const Settings& settings,
                                                    std::uint32_t tries) {
  std::vector<std::uint64_t> values(settings.by_scale<std::size_t>(2'000, 50'000, 500'000));
  for (std::size_t place = 0; place < values.size(); ++place) {
    values[place] = draw(settings.seed, place) >> 11;
  }
  auto input = Input<std::uint64_t>::create(runtime, std::move(values), "signal values");
  if (!input) return input.error();
  auto sent = Output<std::int32_t>::create(runtime, input->size(), -1);
  if (!sent) return sent.error();
  return Result<std::unique_ptr<Workload>>(
      std::make_unique<Signals>(std::move(input.value()), tries, std::move(sent.value())));
}

Result<std::unique_ptr<Workload>> make_signals(Runtime& runtime, const Settings& settings) {
  return make_signals_with(runtime, settings, signal_tries);
}

}  // namespace k2k::labs::generators
