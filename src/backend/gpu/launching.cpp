#include "backend/gpu/launching.hpp"

#include <algorithm>
#include <atomic>
#include <random>

#include "backend/sweep.hpp"

namespace k2k::backend::gpu {

namespace {

// See LaunchContext::launch. Begins anywhere, because other processes use the device, too.
std::uint32_t next_launch() {
  static std::atomic<std::uint32_t> launches{std::random_device{}()};
  return launches.fetch_add(1, std::memory_order_relaxed) & 0x7fffffffu;
}

}  // namespace

device::platform::LaunchContext launch_context(const Memory& memory) {
  device::platform::LaunchContext context;
  context.area = memory.area();
  context.cancel = memory.cancel_word();
  context.launch = next_launch();
  return context;
}

Result<std::uint32_t> put_in_order(Memory& memory, Stream stream) {
  const protocol::AreaView& mirror = memory.mirror();
  const auto any = [](const std::uint64_t* words, std::uint32_t count) {
    return std::any_of(words, words + count, [](std::uint64_t word) { return word != 0; });
  };
  const bool left = any(mirror.locks, mirror.wave_count);
  if (!left && !any(mirror.lent, mirror.arena_blocks + protocol::ticket_words)) return 0u;
  const std::uint32_t unredeemed = sweep(mirror);
  if (Status done = memory.write_locks(stream); !done) return done.error();
  if (Status done = memory.finish(stream); !done) return done.error();
  return unredeemed;
}

}  // namespace k2k::backend::gpu
