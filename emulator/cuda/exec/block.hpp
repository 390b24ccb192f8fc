#pragma once
// A block of threads that is resident on a multiprocessor: its lanes, its shared memory, its
// barriers; and the grid that it belongs to.
//
//   pass()   gives each lane that can run some instructions, then lets those meet who can
//
// Lanes of a warp do not run in step. At shfl, vote, match, redux and bar.warp the lanes of a mask
// meet, at bar.sync those of a block. If all that are left wait for each other, the launch ends
// with Fault::divergence, where a GPU would hang.
//
// Threading: a block belongs to the thread of its multiprocessor; of a Grid as its fields say.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "emulator/cuda/exec/cluster.hpp"
#include "emulator/cuda/exec/lane.hpp"
#include "emulator/cuda/exec/watch.hpp"

namespace k2k::emulator::exec {

inline constexpr std::uint32_t warp_lanes = 32;
inline constexpr std::uint32_t barriers_max = 16;
inline constexpr std::uint64_t local_bytes_max = 256 * 1024;

struct Schedule {
  bool adversarial = false;  // Else round robin.
  std::uint64_t seed = 0;
};

using Extent = std::array<std::uint32_t, 3>;

// One launch.
struct Grid {
  const Code* entry = nullptr;
  Extent blocks{1, 1, 1};
  Extent threads{1, 1, 1};
  Extent cluster{1, 1, 1};         // Blocks; divides `blocks`.
  bool has_clusters = false;       // The launch or the kernel states them.
  std::uint64_t shared_bytes = 0;  // Static and dynamic.
  std::uint64_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
  const MemoryMap* memory = nullptr;
  bool reaches_host_pages = false;  // Beyond `memory`, what Linux lets the process access.
  std::uint64_t number = 0;
  std::uint64_t deadline_ns = 0;     // 0: none.
  std::uint32_t units = 1;           // Multiprocessors of the device.
  std::shared_ptr<GridWatch> watch;  // Or nullptr.
  // Of a cooperative launch: where its blocks count arrivals, as cooperative_groups wants it.
  bool cooperative = false;
  alignas(16) std::array<std::uint32_t, 4> workspace{};

  std::uint64_t next_block = 0;  // Under the device's mutex, as the two below.
  std::uint64_t blocks_left = 0;
  bool done = false;
  std::atomic<bool> stop{false};  // A lane failed, or the context goes away.

  // The first failure wins.
  void fail(Fault fault, const std::string& sentence);
  [[nodiscard]] Fault fault() const;
  [[nodiscard]] std::string report() const;
  [[nodiscard]] std::uint64_t block_count() const {
    return std::uint64_t{blocks[0]} * blocks[1] * blocks[2];
  }
  // 0: not a cooperative launch.
  [[nodiscard]] std::uint64_t workspace_address() const {
    return cooperative ? reinterpret_cast<std::uint64_t>(workspace.data()) : 0;
  }
  [[nodiscard]] std::uint32_t thread_count() const { return threads[0] * threads[1] * threads[2]; }
  [[nodiscard]] std::uint32_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }

 private:
  mutable std::mutex mutex_;
  Fault fault_ = Fault::none;
  std::string report_;
};

// The number of the cluster of a grid's block.
std::uint64_t cluster_number(const Extent& blocks, const Extent& cluster, std::uint64_t block);
// The number in the grid of the block `rank` of cluster `number`.
std::uint64_t block_number(const Grid& grid, std::uint64_t number, std::uint32_t rank);

struct Barrier {
  std::uint32_t arrived = 0;
  std::uint32_t needed = 0;  // 0: all lanes that have not exited.
  std::uint32_t set = 0;     // bar.red: lanes whose predicate is true.
};

struct Block {
  Block(std::shared_ptr<Grid> of, std::uint64_t number, std::uint32_t unit_number,
        std::uint32_t first_warp, const Schedule& schedule,
        std::shared_ptr<Cluster> of_cluster = nullptr, std::uint32_t rank = 0);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  struct Progress {
    std::uint64_t instructions = 0;
    std::uint64_t wake_ns =
        0;  // The first moment at which a sleeping lane goes on; 0: none sleeps.
  };
  Progress pass(std::uint64_t now_ns);
  [[nodiscard]] bool done() const { return live == 0; }
  // Lets a lane go on behind the barrier of its cluster.
  void passes_cluster(Lane& lane, const Op& op);
  // Addresses of its shared memory.
  [[nodiscard]] Range shared_range() const {
    const auto begin = reinterpret_cast<std::uint64_t>(shared_base);
    return {begin, begin + grid->shared_bytes};
  }

  std::shared_ptr<Grid> grid;
  std::uint64_t index = 0;  // Within the grid.
  std::array<std::uint32_t, 3> at{0, 0, 0};
  std::shared_ptr<Cluster> cluster;
  std::uint32_t cluster_rank = 0;
  bool is_stuck = false;  // In its last turn no lane could go on.
  std::uint32_t unit = 0;
  std::uint32_t warp_base = 0;  // %warpid of its first warp.
  std::vector<Lane> lanes;
  std::vector<std::byte> shared;
  std::byte* shared_base = nullptr;          // Aligned.
  std::vector<std::uint8_t> shared_written;  // By byte; of check/uninitialised.hpp.
  std::array<Barrier, barriers_max> barriers;
  std::uint32_t live = 0;
  std::unique_ptr<BlockWatch> watch;  // Or nullptr.

 private:
  // Lets the lanes of a warp meet that can. True if some went on.
  bool settle_warp(std::uint32_t first);
  bool settle_barriers();
  void check_aligned(std::uint32_t barrier);
  void report_standstill();
  // Who waits where, by instruction, mask and barrier; counts them. The first one, or nullptr.
  Lane* waiting_text(std::string& text, std::size_t& count);

  std::byte* local_memory_ = nullptr;
  std::size_t local_memory_bytes_ = 0;
  Schedule schedule_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> order_;
};

std::uint64_t now_ns();
// "block (0,0,0), thread (1,0,0)"
std::string lane_text(const Extent& blocks, const Extent& threads, std::uint64_t block,
                      std::uint32_t rank);
std::string lane_text(const Lane& lane);
// "module:12 `ld.u32 %r1, [%rd1]`"
std::string place_text(const Code& code, const Op& op);

}  // namespace k2k::emulator::exec
