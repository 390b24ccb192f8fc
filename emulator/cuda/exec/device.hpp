#pragma once
// The multiprocessors: threads that run the blocks of grids.
//
// Grids start in the order of start(); several run at the same time if their blocks fit. A block
// stays on its multiprocessor until it ends, and blocks there take turns. The blocks of a cluster
// have one multiprocessor together, which takes them all if it has no others, however many they
// are.
//
// Threading: from any thread. Never destroyed: its threads live until the process ends.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "emulator/cuda/exec/block.hpp"

namespace k2k::emulator::exec {

inline constexpr std::uint32_t unit_lanes_max = 2048;
inline constexpr std::uint32_t unit_blocks_max = 32;
inline constexpr std::uint32_t block_lanes_max = 1024;
inline constexpr std::uint64_t unit_shared_bytes = 228 * 1024;
inline constexpr std::uint64_t block_shared_bytes = 48 * 1024;  // Without an attribute.
inline constexpr std::uint64_t block_shared_bytes_optin = 227 * 1024;

class Device {
 public:
  Device(std::uint32_t units, Schedule schedule);

  // The blocks of `lanes` lanes and `shared_bytes` that fit on a multiprocessor together.
  [[nodiscard]] static std::uint32_t resident_blocks(std::uint32_t lanes,
                                                     std::uint64_t shared_bytes);
  [[nodiscard]] std::uint32_t units() const { return units_; }
  void start(const std::shared_ptr<Grid>& grid);
  void wait(const std::shared_ptr<Grid>& grid);
  // Ends all grids, with `fault` as their outcome.
  void stop_all(Fault fault, const std::string& sentence);

 private:
  struct Unit {
    std::list<Block> blocks;
    std::uint32_t lanes = 0;
    std::uint64_t shared_bytes = 0;
    std::vector<bool> warps = std::vector<bool>(unit_lanes_max / warp_lanes);
  };

  void run_unit(std::uint32_t number);
  // Under the mutex.
  bool take_cluster(Unit& unit, std::uint32_t number);
  // False if there is no memory for it.
  bool add_block(Unit& unit, std::uint32_t number, const std::shared_ptr<Grid>& grid,
                 std::uint64_t index, const std::shared_ptr<Cluster>& cluster, std::uint32_t rank);
  void blocks_ended(const std::shared_ptr<Grid>& grid, std::uint64_t count);
  void finish_block(Unit& unit, std::list<Block>::iterator block);

  const std::uint32_t units_;
  const Schedule schedule_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ended_;
  std::list<std::shared_ptr<Grid>> waiting_;  // With blocks that have not begun.
  std::list<std::shared_ptr<Grid>> running_;  // Not done.
};

}  // namespace k2k::emulator::exec
