#include "apps/signal_search/search.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "apps/common/device_blocks.hpp"
#include "base/clock.hpp"
#include "base/cores.hpp"

namespace k2k::signal_search {

namespace {

// Enough groups for every unit to have another one while a group waits for a full queue.
constexpr std::uint32_t groups_per_unit = 8;
constexpr std::uint32_t items_default = 4;
constexpr std::uint32_t items_default_gpu = 256;
constexpr std::uint32_t credits_max = 1024;

// Below the number that the server claims (server/waits/interrupt_signal.hpp), and not the
// laboratory's.
int signal_number() { return SIGRTMAX - 3; }

// Half of the limit: other programs of the user share it.
std::uint32_t credits_of_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_SIGPENDING, &limit) != 0) return 1;
  return static_cast<std::uint32_t>(std::min<rlim_t>(limit.rlim_cur / 2, credits_max));
}

// Threads that are started meanwhile inherit the mask. At the end pending signals are taken,
// because one of them would end the process as soon as it is not blocked any more.
class SignalBlocked {
 public:
  explicit SignalBlocked(int number) {
    sigemptyset(&set_);
    sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~SignalBlocked() {
    constexpr timespec no_wait{0, 0};
    while (::sigtimedwait(&set_, nullptr, &no_wait) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalBlocked(const SignalBlocked&) = delete;
  SignalBlocked& operator=(const SignalBlocked&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

std::uint32_t blocks_of(std::size_t queries, std::uint32_t block_queries) {
  return static_cast<std::uint32_t>((queries + block_queries - 1) / block_queries);
}

Outcome search_serially(const std::vector<Record>& records,
                        const std::vector<std::uint64_t>& queries, const Settings& settings) {
  std::vector<Record> results(queries.size());
  Job job;
  job.records = records.data();
  job.record_count = records.size();
  job.queries = queries.data();
  job.query_count = queries.size();
  job.block_queries = settings.block_queries;
  job.blocks = blocks_of(queries.size(), settings.block_queries);
  job.results = results.data();
  Outcome outcome;
  const Instant begin = now();
  for (std::uint32_t block = 0; block < job.blocks; ++block) {
    const BlockRange range = range_of(job, block);
    for (std::uint64_t place = 0; place < range.count; ++place) look_up(job, range.first + place);
    outcome.digests.push_back(digest_of(job, block));
  }
  outcome.seconds = seconds_since(begin);
  return outcome;
}

template <class Value>
Status place(Runtime& runtime, apps::DeviceBlocks& blocks, const std::vector<Value>& values,
             const Value*& to) {
  const auto memory = blocks.on_device(values.size() * sizeof(Value));
  if (!memory) return memory.error();
  to = static_cast<const Value*>(*memory);
  return runtime.copy(*memory, values.data(), values.size() * sizeof(Value));
}

Status fill(Runtime& runtime, apps::DeviceBlocks& blocks, const std::vector<Record>& records,
            const std::vector<std::uint64_t>& queries, const Settings& settings, Job& job) {
  if (Status placed = place(runtime, blocks, records, job.records); !placed) return placed;
  if (Status placed = place(runtime, blocks, queries, job.queries); !placed) return placed;
  job.record_count = records.size();
  job.query_count = queries.size();
  job.block_queries = settings.block_queries;
  job.blocks = blocks_of(queries.size(), settings.block_queries);
  const auto results = blocks.shared(queries.size() * sizeof(Record));
  const auto ready = blocks.shared(job.blocks * sizeof(std::uint32_t));
  const auto taken = blocks.shared(sizeof(std::uint32_t));
  const auto counters = blocks.on_device(3 * sizeof(std::uint32_t));
  for (const auto* const each : {&results, &ready, &taken, &counters}) {
    if (!*each) return each->error();
  }
  job.results = static_cast<Record*>(*results);
  job.ready = static_cast<std::uint32_t*>(*ready);
  job.taken = static_cast<std::uint32_t*>(*taken);
  job.issued = static_cast<std::uint32_t*>(*counters);
  job.retries = job.issued + 1;
  job.in_vain = job.issued + 2;
  job.credits = credits_of_limit();
  job.tries = settings.tries;
  job.process = ::getpid();
  job.number = settings.by == By::launch ? 0 : signal_number();
  return {};
}

}  // namespace

Result<Outcome> search(const std::vector<Record>& records,
                       const std::vector<std::uint64_t>& queries, const Settings& settings,
                       const RuntimeConfig& config) {
  if (settings.by == By::serial) return search_serially(records, queries, settings);
  const SignalBlocked blocked(signal_number());  // Before the first thread of the runtime.
  auto runtime = Runtime::create(config);
  if (!runtime) return runtime.error();
  apps::DeviceBlocks blocks(*runtime);
  Job job;
  if (Status filled = fill(*runtime, blocks, records, queries, settings, job); !filled) {
    return filled.error();
  }
  const DeviceInfo& device = runtime->device();
  const LaunchShape shape{
      settings.groups != 0 ? settings.groups : groups_per_unit * device.compute_units,
      settings.items != 0        ? settings.items
      : device.platform == "cpu" ? items_default
                                 : items_default_gpu};
  const std::uint32_t threads = settings.threads != 0 ? settings.threads : usable_cores();
  Outcome outcome;
  Hashers hashers(job);
  const Instant begin = now();
  if (job.number != 0) {
    if (Status begun = hashers.begin(threads); !begun) return begun.error();
  }
  auto report = launch_search(*runtime, shape,
                              settings.by == By::direct ? Sender::direct : Sender::wrapped, job);
  if (!report) return report.error();
  auto drained = runtime->drain();  // Every signal has been sent, or was refused.
  if (!drained) return drained.error();
  outcome.lookup_seconds = seconds_since(begin);
  if (job.number != 0) {
    hashers.all_are_ready();
  } else if (Status hashed = hashers.hash_all(threads); !hashed) {
    return hashed.error();
  }
  outcome.seconds = seconds_since(begin);
  outcome.digests = hashers.digests();
  outcome.signalled = hashers.signalled();
  outcome.swept = hashers.swept();
  outcome.strays = hashers.strays();
  outcome.credits = job.credits;
  if (Status copied = runtime->copy(&outcome.retries, job.retries, sizeof(outcome.retries));
      !copied) {
    return copied.error();
  }
  return outcome;
}

}  // namespace k2k::signal_search
