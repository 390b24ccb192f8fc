#include "emulator/cuda/exec/block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <new>
#include <numeric>
#include <tuple>

namespace k2k::emulator::exec {

namespace {

// A lane runs so many instructions before the next one has its turn.
constexpr std::uint32_t turn = 128;
constexpr std::uint32_t turn_adversarial_max = 48;

template <class Execute>
std::uint32_t run_by(Lane& lane, std::uint32_t budget, Execute&& execute) {
  std::uint32_t left = budget;
  if (lane.block->grid->reaches_host_pages) std::ranges::fill(lane.host_pages, 0);
  while (left != 0) {
    --left;
    const Op& op = lane.ops[lane.pc++];
    if (op.guard >= 0 && ((lane.regs[op.guard] & 1) != 0) == op.guard_negated) continue;
    execute(op);
    if (lane.state != LaneState::running) break;
  }
  return budget - left;
}

std::uint32_t run(Lane& lane, std::uint32_t budget) {
  return run_by(lane, budget, [&](const Op& op) { op.run(lane, op); });
}

std::uint32_t run_watched(Lane& lane, std::uint32_t budget) {
  BlockWatch& watch = *lane.block->watch;
  const std::uint32_t done = run_by(lane, budget, [&](const Op& op) {
    if (op.access.kind == Access::Kind::none) return op.run(lane, op);
    if (op.access.first != nullptr) op.access.first(lane, op);
    if (lane.state == LaneState::running) watch.execute(lane, op);
  });
  if (lane.state == LaneState::exited) watch.exits(lane);
  return done;
}

constexpr std::size_t standstill_places_max = 6;
constexpr std::size_t ranges_max = 8;

// "0-31, 40": ranks of lanes in a block, ascending.
std::string ranges_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (ranges++ == ranges_max) return text + ", …";
    const std::size_t begin = at;
    while (at + 1 < ranks.size() && ranks[at + 1] == ranks[at] + 1) ++at;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[begin]);
    if (at != begin) text += "-" + std::to_string(ranks[at]);
  }
  return text;
}

}  // namespace

void BlockWatch::execute(Lane& lane, const Op& op) { op.run(lane, op); }

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

std::string lane_text(const Extent& blocks, const Extent& threads, std::uint64_t block,
                      std::uint32_t rank) {
  const auto three = [](std::uint64_t index, const Extent& of) {
    return "(" + std::to_string(index % of[0]) + "," + std::to_string(index / of[0] % of[1]) + "," +
           std::to_string(index / of[0] / of[1]) + ")";
  };
  return "block " + three(block, blocks) + ", thread " + three(rank, threads);
}

std::string lane_text(const Lane& lane) {
  const Grid& grid = *lane.block->grid;
  return lane_text(grid.blocks, grid.threads, lane.block->index, lane.rank);
}

std::string place_text(const Code& code, const Op& op) {
  std::string text = code.module + ":" + std::to_string(op.line);
  const auto& instructions = code.function->instructions;
  if (op.source < instructions.size() && instructions[op.source].end != 0) {
    const ptx::Instruction& at = instructions[op.source];
    std::string words = code.ptx->text.substr(at.begin, at.end - at.begin);
    std::replace(words.begin(), words.end(), '\n', ' ');
    text += " `" + words + "`";
  }
  return text;
}

void Lane::fail(Fault fault, const std::string& sentence) {
  const Op& op = ops[waits_at != nullptr ? static_cast<std::uint32_t>(waits_at - ops) : pc - 1];
  const std::string report =
      sentence + ", at " + place_text(*code, op) + " in " + code->name + ", " + lane_text(*this);
  block->grid->fail(fault, report);
  state = LaneState::exited;
}

bool Lane::enter(const Code& callee, std::byte* parameter_memory) {
  std::byte* const memory = local_top;
  if (callee.frame_bytes > static_cast<std::uint64_t>(local_end - local_top)) {
    fail(Fault::stack_overflow, "the stack of " + std::to_string(local_end - local) +
                                    " bytes is too small for " + callee.name);
    return false;
  }
  local_top += callee.frame_bytes;
  if (!frames.empty()) {
    frames.back().pc = pc;
  }
  Frame made;
  made.code = &callee;
  made.registers = registers_used;
  made.parameters = parameter_memory;
  made.memory = memory;
  frames.push_back(made);
  registers_used += callee.register_count;
  if (registers.size() < registers_used) registers.resize(registers_used * 2);
  code = &callee;
  ops = callee.ops.data();
  pc = 0;
  regs = registers.data() + made.registers;
  parameters = parameter_memory;
  frame = memory;
  return true;
}

void Lane::leave() {
  const Frame left = frames.back();
  frames.pop_back();
  registers_used = left.registers;
  if (frames.empty()) {
    state = LaneState::exited;
    return;
  }
  // The parameters of the call that ends lay below the frame.
  local_top = left.parameters;
  const Frame& now = frames.back();
  code = now.code;
  ops = now.code->ops.data();
  pc = now.pc;
  regs = registers.data() + now.registers;
  parameters = now.parameters;
  frame = now.memory;
}

void Grid::fail(Fault fault, const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    if (fault_ == Fault::none) {
      fault_ = fault;
      report_ = sentence;
    }
  }
  stop.store(true, std::memory_order_release);
}

Fault Grid::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

std::string Grid::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

Block::Block(std::shared_ptr<Grid> of, std::uint64_t number, std::uint32_t unit_number,
             std::uint32_t first_warp, const Schedule& schedule,
             std::shared_ptr<Cluster> of_cluster, std::uint32_t rank_in_cluster)
    : grid(std::move(of)),
      index(number),
      cluster(of_cluster != nullptr ? std::move(of_cluster) : std::make_shared<Cluster>()),
      cluster_rank(rank_in_cluster),
      unit(unit_number),
      warp_base(first_warp),
      schedule_(schedule),
      random_(schedule.seed * 1'000'003 + number) {
  const Grid& launch = *grid;
  at[0] = static_cast<std::uint32_t>(index % launch.blocks[0]);
  at[1] = static_cast<std::uint32_t>(index / launch.blocks[0] % launch.blocks[1]);
  at[2] = static_cast<std::uint32_t>(index / launch.blocks[0] / launch.blocks[1]);
  constexpr std::uint64_t shared_align = 128;
  shared.resize(launch.shared_bytes + shared_align);
  const auto raw = reinterpret_cast<std::uint64_t>(shared.data());
  shared_base = shared.data() + (shared_align - raw % shared_align) % shared_align;
  if (cluster->members.size() <= cluster_rank) cluster->members.resize(cluster_rank + 1);

  live = launch.thread_count();
  local_memory_bytes_ = live * local_bytes_max;
  void* const memory = ::mmap(nullptr, local_memory_bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  local_memory_ = static_cast<std::byte*>(memory);
  lanes.resize(live);
  for (std::uint32_t rank = 0; rank < live; ++rank) {
    Lane& lane = lanes[rank];
    lane.block = this;
    lane.rank = rank;
    lane.in_warp = static_cast<std::uint8_t>(rank % warp_lanes);
    lane.thread[0] = rank % launch.threads[0];
    lane.thread[1] = rank / launch.threads[0] % launch.threads[1];
    lane.thread[2] = rank / launch.threads[0] / launch.threads[1];
    lane.local = local_memory_ + rank * local_bytes_max;
    lane.local_end = lane.local + local_bytes_max;
    lane.local_top = lane.local + local_begin;
    lane.registers.resize(launch.entry->register_count + 256);
    lane.enter(*launch.entry, const_cast<std::byte*>(launch.parameters.data()));
  }
  order_.resize(live);
  std::iota(order_.begin(), order_.end(), 0u);
  if (launch.watch != nullptr) watch = launch.watch->watch(*this);
  cluster->members[cluster_rank] = {this, shared_range()};
}

Block::~Block() {
  Cluster::Member& member = cluster->members[cluster_rank];
  if (member.block == this) {
    member.block = nullptr;
    cluster->kept.push_back(std::move(shared));
  }
  if (local_memory_ != nullptr) ::munmap(local_memory_, local_memory_bytes_);
}

Block::Progress Block::pass(std::uint64_t now) {
  Progress progress;
  bool moved = false;
  const auto count = static_cast<std::uint32_t>(lanes.size());
  for (std::uint32_t first = 0; first < count; first += warp_lanes) {
    const std::uint32_t last = std::min(first + warp_lanes, count);
    if (schedule_.adversarial) {
      if (live > warp_lanes && random_() % 4 == 0) {  // A delay of this warp.
        moved = true;
        continue;
      }
      std::shuffle(order_.begin() + first, order_.begin() + last, random_);
    }
    for (std::uint32_t place = first; place < last; ++place) {
      Lane& lane = lanes[order_[place]];
      if (lane.state == LaneState::sleeping) {
        if (now < lane.wake_ns) {
          progress.wake_ns =
              progress.wake_ns == 0 ? lane.wake_ns : std::min(progress.wake_ns, lane.wake_ns);
          continue;
        }
        lane.state = LaneState::running;
      }
      if (lane.state != LaneState::running) continue;
      moved = true;
      const auto budget = schedule_.adversarial
                              ? static_cast<std::uint32_t>(1 + random_() % turn_adversarial_max)
                              : turn;
      progress.instructions += watch == nullptr ? run(lane, budget) : run_watched(lane, budget);
      if (lane.state == LaneState::exited) --live;
      if (grid->stop.load(std::memory_order_relaxed)) {
        live = 0;
        return progress;
      }
    }
    while (settle_warp(first)) moved = true;
  }
  if (settle_barriers()) moved = true;
  if (cluster->settle()) moved = true;
  if (watch != nullptr) watch->turns();
  if (grid->stop.load(std::memory_order_relaxed)) live = 0;
  is_stuck = !moved && progress.wake_ns == 0 && live != 0;
  if (is_stuck) report_standstill();
  return progress;
}

bool Block::settle_warp(std::uint32_t first) {
  const auto count = static_cast<std::uint32_t>(lanes.size());
  const std::uint32_t width = std::min(warp_lanes, count - first);
  for (std::uint32_t at_lane = 0; at_lane < width; ++at_lane) {
    const Lane& lane = lanes[first + at_lane];
    if (lane.state != LaneState::meeting) continue;
    const std::uint32_t mask = lane.waits_mask;
    std::uint32_t present = 0;
    bool complete = true;
    for (std::uint32_t other = 0; other < width && complete; ++other) {
      if ((mask >> other & 1) == 0) continue;
      const Lane& peer = lanes[first + other];
      if (peer.state == LaneState::exited) continue;
      complete = peer.state == LaneState::meeting && peer.waits_mask == mask &&
                 peer.waits_at->meeting == lane.waits_at->meeting;
      present |= 1u << other;
    }
    if (!complete) continue;
    lane.waits_at->meet(*this, first, present);
    if (watch != nullptr && lane.waits_at->access.kind == Access::Kind::warp_barrier) {
      watch->meets(first, present);
    }
    for (std::uint32_t other = 0; other < width; ++other) {
      Lane& peer = lanes[first + other];
      if ((present >> other & 1) == 0 || peer.state != LaneState::meeting) continue;
      peer.state = LaneState::running;
      peer.waits_at = nullptr;
    }
    return true;
  }
  return false;
}

void Block::check_aligned(std::uint32_t barrier) {
  const auto count = static_cast<std::uint32_t>(lanes.size());
  for (std::uint32_t first = 0; first < count; first += warp_lanes) {
    const Op* common = nullptr;
    std::uint32_t common_rank = 0;
    for (std::uint32_t at_lane = first; at_lane < std::min(first + warp_lanes, count); ++at_lane) {
      Lane& lane = lanes[at_lane];
      if (lane.state != LaneState::barrier || lane.waits_barrier != barrier) continue;
      if ((lane.waits_at->flags & 1) == 0) continue;  // barrier.sync without .aligned
      if (common == nullptr) {
        common = lane.waits_at;
        common_rank = lane.rank;
      }
      if (lane.waits_at == common) continue;
      lane.fail(Fault::divergence, "lanes of one warp wait at different places for barrier " +
                                       std::to_string(barrier) + ", thread " +
                                       std::to_string(common_rank) + " of the block in line " +
                                       std::to_string(common->line));
      return;
    }
  }
}

bool Block::settle_barriers() {
  bool moved = false;
  for (std::uint32_t number = 0; number < barriers_max; ++number) {
    Barrier& barrier = barriers[number];
    if (barrier.arrived == 0) continue;
    const std::uint32_t needed = barrier.needed == 0 ? live : barrier.needed;
    if (barrier.arrived < needed) continue;
    check_aligned(number);
    if (watch != nullptr) watch->opens(number);
    for (Lane& lane : lanes) {
      if (lane.state != LaneState::barrier || lane.waits_barrier != number) continue;
      // bar.red: what all have together; ops/warp.cpp set `immediate` to 1 popc, 2 and, 3 or.
      const Op& op = *lane.waits_at;
      if (op.immediate == 1) lane.regs[op.to] = barrier.set;
      if (op.immediate == 2) lane.regs[op.to] = barrier.set == barrier.arrived ? 1 : 0;
      if (op.immediate == 3) lane.regs[op.to] = barrier.set != 0 ? 1 : 0;
      lane.state = LaneState::running;
      lane.waits_at = nullptr;
    }
    barrier = Barrier();
    moved = true;
  }
  return moved;
}

void Block::passes_cluster(Lane& lane, const Op& op) {
  constexpr std::uint32_t acquires = 2;
  if (watch != nullptr) watch->passes_cluster(lane, (op.flags & acquires) != 0);
  lane.cluster_arrival = nullptr;
  lane.state = LaneState::running;
  lane.waits_at = nullptr;
}

Lane* Block::waiting_text(std::string& text, std::size_t& count) {
  using Place = std::tuple<const Op*, std::uint32_t, std::uint32_t>;
  std::map<Place, std::vector<std::uint32_t>> waiting;
  Lane* first = nullptr;
  for (Lane& lane : lanes) {
    if (lane.state == LaneState::exited) continue;
    const bool meets = lane.state == LaneState::meeting;
    waiting[{lane.waits_at, meets ? lane.waits_mask : 0, meets ? 0 : lane.waits_barrier}].push_back(
        lane.rank);
    if (first == nullptr) first = &lane;
    ++count;
  }
  std::size_t places = 0;
  for (const auto& [place, ranks] : waiting) {
    if (++places > standstill_places_max) {
      text += "; and others elsewhere";
      break;
    }
    const auto& [op, mask, barrier] = place;
    char words[16] = {};
    std::snprintf(words, sizeof words, "%08x", mask);
    const bool in_cluster = lanes[ranks[0]].state == LaneState::cluster;
    text += "; threads " + ranges_text(ranks) + " wait in line " + std::to_string(op->line) +
            (in_cluster  ? " at the barrier of the cluster"
             : mask != 0 ? " for the lanes " + std::string(words) + " of their warp"
                         : " at barrier " + std::to_string(barrier));
  }
  return first;
}

// A block whose lanes wait for others of the cluster can still go on.
void Block::report_standstill() {
  const bool waits_for_cluster = std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) {
    return lane.state == LaneState::cluster;
  });
  if (waits_for_cluster && !cluster->is_stuck()) return;
  std::size_t count = 0;
  std::string places;
  Lane* const first = waiting_text(places, count);
  std::string text = std::to_string(count) + " lanes wait for each other for ever";
  if (count < lanes.size()) text += ", " + std::to_string(lanes.size() - count) + " have ended";
  text += places;
  for (const Cluster::Member& member : cluster->members) {
    if (!waits_for_cluster || member.block == this) continue;
    if (member.block == nullptr || member.block->done()) {
      text += ". Another block of the cluster has ended";
      continue;
    }
    std::string others;
    std::size_t others_count = 0;
    const Lane* const other = member.block->waiting_text(others, others_count);
    if (other != nullptr) text += ". With " + lane_text(*other) + " of the cluster" + others;
  }
  if (first != nullptr) first->fail(Fault::divergence, text);
  live = 0;
}

std::uint64_t cluster_number(const Extent& blocks, const Extent& cluster, std::uint64_t block) {
  const std::uint64_t x = block % blocks[0] / cluster[0];
  const std::uint64_t y = block / blocks[0] % blocks[1] / cluster[1];
  const std::uint64_t z = block / blocks[0] / blocks[1] / cluster[2];
  return x + (y + z * (blocks[1] / cluster[1])) * (blocks[0] / cluster[0]);
}

std::uint64_t block_number(const Grid& grid, std::uint64_t number, std::uint32_t rank) {
  const Extent& cluster = grid.cluster;
  const std::uint64_t across = grid.blocks[0] / cluster[0];
  const std::uint64_t down = grid.blocks[1] / cluster[1];
  const std::uint64_t x = number % across * cluster[0] + rank % cluster[0];
  const std::uint64_t y = number / across % down * cluster[1] + rank / cluster[0] % cluster[1];
  const std::uint64_t z = number / across / down * cluster[2] + rank / cluster[0] / cluster[1];
  return x + (y + z * grid.blocks[1]) * grid.blocks[0];
}

}  // namespace k2k::emulator::exec
