// Goal: no kernel harms the host. Kernels write arbitrary values into slots and rings, or never
// end; the runtime ends, and the next one serves. tests/fuzz plays such a device on the host; here
// the words come from device code, by the driver's memory.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "tests/conformance/device_under_test.hpp"

namespace k2k::conformance {
namespace {

// Every store is an atomic one of the system, as the protocol's own stores to these words.
struct HostileKernel {
  std::uint64_t seed;
  std::uint32_t turns;

  K2K_DEVICE static std::uint64_t next(std::uint64_t& state) {  // SplitMix64.
    std::uint64_t mixed = state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    return mixed ^ (mixed >> 31);
  }

  K2K_DEVICE static void spoil_slot(protocol::Slot& slot, std::uint64_t& state) {
    for (std::uint64_t& word : slot.arguments) protocol::store_hint(&word, next(state));
    protocol::store_hint(&slot.attributes, static_cast<std::uint32_t>(next(state)));
    protocol::store_hint(&slot.generation, static_cast<std::uint32_t>(next(state)));
    protocol::store_hint(&slot.stamp, static_cast<std::uint32_t>(next(state)));
    const auto any = static_cast<std::uint32_t>(next(state));
    const protocol::Control ready{protocol::SlotState::ready, protocol::TransportError::none,
                                  static_cast<std::uint16_t>(any % 512)};
    const bool plausible = next(state) % 4 != 0;
    protocol::store_release(&slot.control, plausible ? protocol::pack(ready) : any);
  }

  K2K_DEVICE static void spoil_ring(const protocol::AreaView& area, std::uint64_t& state) {
    const auto wave = static_cast<std::uint32_t>(next(state) % (area.wave_count + 2));
    const protocol::DoorbellRing& ring = area.ring_of(wave);
    const std::uint64_t ticket = next(state) % 64;
    protocol::DoorbellEntry& entry = ring.entries[ticket % ring.entry_count];
    const bool plausible = next(state) % 4 != 0;
    protocol::store_hint(&entry.lanes, next(state));
    protocol::store_release(
        &entry.head,
        plausible ? protocol::doorbell_head(ticket, ring.entry_count, wave) : next(state));
  }

  K2K_DEVICE void operator()() const {
    const protocol::AreaView& area = *device::platform::current().area;
    std::uint64_t state = seed + (k2k::global_rank() << 32);
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
      const auto wave = static_cast<std::uint32_t>(next(state) % area.wave_count);
      const auto lane = static_cast<std::uint32_t>(next(state) % area.wave_lanes);
      spoil_slot(area.slot(wave, lane), state);
      spoil_ring(area, state);
      k2k::yield();
    }
  }
};

struct EndlessKernel {
  K2K_DEVICE void operator()() const {
    while (true) k2k::yield();
  }
};

struct HonestKernel {
  int* processes;
  K2K_DEVICE void operator()() const {
    processes[k2k::global_rank()] = static_cast<int>(k2k::getpid(k2k::work_item));
  }
};

// Permits getpid alone: a slot of arbitrary words may name any call.
class PolicyFile {
 public:
  PolicyFile() : path_(testing::TempDir() + "k2k_hostile_" + std::to_string(::getpid()) + ".toml") {
    std::ofstream(path_) << "default = \"none\"\n[calls]\nallow = [\"getpid\"]\n"
                            "[audit]\nfile = \"/dev/null\"\n";
  }
  ~PolicyFile() { ::unlink(path_.c_str()); }
  PolicyFile(const PolicyFile&) = delete;
  PolicyFile& operator=(const PolicyFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Runtime start_with(const PolicyFile& policy) {
  RuntimeConfig config;
  config.backend = K2K_CONFORMANCE_GPU;
  config.server.policy = server::CallPolicy::file;
  config.server.policy_file = policy.path();
  return Runtime::create(config).value();
}

void expect_service(Runtime& runtime) {
  constexpr std::uint32_t groups = 4;
  constexpr std::uint32_t items = 32;
  auto* const processes =
      static_cast<int*>(runtime.allocate_shared(groups * items * sizeof(int)).value());
  const Result<LaunchReport> report = runtime.launch({groups, items}, HonestKernel{processes});
  EXPECT_TRUE(report.ok()) << report.error().message;
  for (std::uint32_t item = 0; item < groups * items; ++item) {
    ASSERT_EQ(processes[item], ::getpid()) << item;
  }
  runtime.free_shared(processes);
}

// No doorbell rings for these slots: rescans find them, a part of all slots at a time.
void expect_refusals(Runtime& runtime) {
  constexpr auto longest = std::chrono::seconds(10);
  const Instant begin = now();
  while (runtime.stats().refused == 0 && now() - begin < longest) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(runtime.stats().refused, 0u) << "the host met what the kernel had written";
}

TEST(HostileKernels, that_spoil_slots_and_rings_leave_the_host_alive) {
  const PolicyFile policy;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Runtime runtime = start_with(policy);
    expect_service(runtime);
    const Result<LaunchReport> report = runtime.launch({4, 32}, HostileKernel{seed, 64}, "hostile");
    EXPECT_TRUE(report.ok()) << report.error().message;
    expect_refusals(runtime);
  }
  Runtime next = start_with(policy);
  expect_service(next);
}

// The driver's watchdog, as that of a GPU with a display.
TEST(HostileKernels, that_never_end_are_ended_by_the_driver) {
  const char* const limit = std::getenv("EMULATED_CUDA_LAUNCH_LIMIT_MS");
  if (limit == nullptr || std::atoi(limit) > 2000) {
    GTEST_SKIP() << "no short limit of launches: EMULATED_CUDA_LAUNCH_LIMIT_MS=500 sets one";
  }
  const PolicyFile policy;
  {
    Runtime runtime = start_with(policy);
    const Result<LaunchReport> report = runtime.launch({2, 32}, EndlessKernel{}, "endless");
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, EIO);
    for (const char* part : {"kernel 'endless'", "CUDA_ERROR_LAUNCH_TIMEOUT"}) {
      EXPECT_NE(report.error().message.find(part), std::string::npos) << report.error().message;
    }
  }
  Runtime next = start_with(policy);
  expect_service(next);
}

}  // namespace
}  // namespace k2k::conformance
