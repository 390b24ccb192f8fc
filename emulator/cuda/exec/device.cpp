#include "emulator/cuda/exec/device.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace k2k::emulator::exec {

namespace {

constexpr std::uint64_t nap_ns_max = 50'000;
constexpr std::uint64_t instructions_before_yield = 4'000;

std::uint64_t rounded_lanes(std::uint32_t lanes) {
  return (std::uint64_t{lanes} + warp_lanes - 1) / warp_lanes * warp_lanes;
}

}  // namespace

Device::Device(std::uint32_t units, Schedule schedule) : units_(units), schedule_(schedule) {
  // Signals of the process are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (std::uint32_t number = 0; number < units_; ++number) {
    std::thread([this, number] { run_unit(number); }).detach();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::uint32_t Device::resident_blocks(std::uint32_t lanes, std::uint64_t shared_bytes) {
  const std::uint64_t by_lanes = unit_lanes_max / std::max<std::uint64_t>(rounded_lanes(lanes), 1);
  const std::uint64_t by_shared =
      shared_bytes == 0 ? unit_blocks_max : unit_shared_bytes / shared_bytes;
  return static_cast<std::uint32_t>(
      std::min({by_lanes, by_shared, std::uint64_t{unit_blocks_max}}));
}

void Device::start(const std::shared_ptr<Grid>& grid) {
  const std::lock_guard lock(mutex_);
  grid->units = units_;
  grid->blocks_left = grid->block_count();
  waiting_.push_back(grid);
  running_.push_back(grid);
  work_.notify_all();
}

void Device::wait(const std::shared_ptr<Grid>& grid) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return grid->done; });
}

void Device::stop_all(Fault fault, const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Grid>& grid : running_) grid->fail(fault, sentence);
  work_.notify_all();
}

void Device::blocks_ended(const std::shared_ptr<Grid>& grid, std::uint64_t count) {
  grid->blocks_left -= count;
  if (grid->blocks_left != 0) return;
  grid->done = true;
  running_.remove(grid);
  ended_.notify_all();
}

bool Device::add_block(Unit& unit, std::uint32_t number, const std::shared_ptr<Grid>& grid,
                       std::uint64_t index, const std::shared_ptr<Cluster>& cluster,
                       std::uint32_t rank) {
  const std::uint64_t lanes = rounded_lanes(grid->thread_count());
  // Free numbers of warps, one after the other; a large cluster has more than a multiprocessor.
  const std::uint64_t warps = lanes / warp_lanes;
  std::size_t first = 0;
  for (std::size_t run = 0; run < warps; ++first) {
    if (first == unit.warps.size()) unit.warps.push_back(false);
    run = unit.warps[first] ? 0 : run + 1;
  }
  first -= warps;
  try {
    unit.blocks.emplace_back(grid, index, number, static_cast<std::uint32_t>(first), schedule_,
                             cluster, rank);
  } catch (const std::exception&) {
    grid->fail(Fault::stack_overflow, "no memory for the lanes of a block");
    return false;
  }
  std::fill_n(unit.warps.begin() + static_cast<std::ptrdiff_t>(first), warps, true);
  unit.lanes += static_cast<std::uint32_t>(lanes);
  unit.shared_bytes += grid->shared_bytes;
  return true;
}

bool Device::take_cluster(Unit& unit, std::uint32_t number) {
  while (!waiting_.empty()) {
    const std::shared_ptr<Grid> grid = waiting_.front();
    if (grid->stop.load(std::memory_order_acquire)) {
      const std::uint64_t left = grid->block_count() - grid->next_block;
      grid->next_block = grid->block_count();
      waiting_.pop_front();
      blocks_ended(grid, left);
      continue;
    }
    const std::uint32_t blocks = grid->cluster_size();
    const bool fits = unit.blocks.size() + blocks <= unit_blocks_max &&
                      unit.lanes + blocks * rounded_lanes(grid->thread_count()) <= unit_lanes_max &&
                      unit.shared_bytes + blocks * grid->shared_bytes <= unit_shared_bytes;
    if (!fits && !(blocks > 1 && unit.blocks.empty())) return false;
    const std::uint64_t cluster_index = grid->next_block / blocks;
    grid->next_block += blocks;
    if (grid->next_block == grid->block_count()) waiting_.pop_front();
    const auto cluster = std::make_shared<Cluster>();
    cluster->members.resize(blocks);
    for (std::uint32_t rank = 0; rank < blocks; ++rank) {
      const std::uint64_t index = block_number(*grid, cluster_index, rank);
      if (add_block(unit, number, grid, index, cluster, rank)) continue;
      blocks_ended(grid, blocks - rank);
      break;
    }
    return true;
  }
  return false;
}

void Device::finish_block(Unit& unit, std::list<Block>::iterator block) {
  const std::shared_ptr<Grid> grid = block->grid;
  const std::uint64_t lanes = rounded_lanes(grid->thread_count());
  std::fill_n(unit.warps.begin() + block->warp_base, lanes / warp_lanes, false);
  unit.lanes -= static_cast<std::uint32_t>(lanes);
  unit.shared_bytes -= grid->shared_bytes;
  unit.blocks.erase(block);
  const std::lock_guard lock(mutex_);
  blocks_ended(grid, 1);
}

void Device::run_unit(std::uint32_t number) {
  Unit unit;
  std::uint64_t since_yield = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (unit.blocks.empty()) work_.wait(lock, [&] { return !waiting_.empty(); });
      take_cluster(unit, number);  // One a pass, so that blocks spread over the multiprocessors.
    }
    const std::uint64_t now = now_ns();
    std::uint64_t instructions = 0;
    std::uint64_t wake_ns = ~std::uint64_t{0};
    for (auto block = unit.blocks.begin(); block != unit.blocks.end();) {
      const auto here = block++;
      Grid& grid = *here->grid;
      if (grid.deadline_ns != 0 && now > grid.deadline_ns) {
        grid.fail(Fault::timeout, "the kernel ran longer than EMULATED_CUDA_LAUNCH_LIMIT_MS");
      }
      if (grid.stop.load(std::memory_order_relaxed)) {
        here->live = 0;
      } else {
        const Block::Progress progress = here->pass(now);
        instructions += progress.instructions;
        if (progress.wake_ns != 0) wake_ns = std::min(wake_ns, progress.wake_ns);
      }
      if (here->done()) finish_block(unit, here);
    }
    since_yield += instructions;
    if (instructions == 0 && !unit.blocks.empty() && wake_ns != ~std::uint64_t{0}) {
      const std::uint64_t later = now_ns();
      if (wake_ns > later) {
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(std::min(wake_ns - later, nap_ns_max)));
      }
    } else if (since_yield > instructions_before_yield) {
      since_yield = 0;
      std::this_thread::yield();
    }
  }
}

}  // namespace k2k::emulator::exec
