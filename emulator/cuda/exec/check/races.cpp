#include "emulator/cuda/exec/check/races.hpp"

#include <algorithm>

#include "emulator/cuda/exec/check/places.hpp"
#include "emulator/cuda/exec/check/reach.hpp"
#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/wide.hpp"

namespace k2k::emulator::exec::check {

namespace {

Wide128 first_bytes(Wide128 value, std::uint64_t bytes) {
  if (bytes < 8) value.low &= (std::uint64_t{1} << (8 * bytes)) - 1;
  if (bytes <= 8) value.high = 0;
  return value;
}

// As one access: the host may write at the same time.
Wide128 read_memory(std::uint64_t address, std::uint64_t bytes) {
  const auto* const from = reinterpret_cast<const std::byte*>(address);
  switch (bytes) {
    case 1:
      return {load_word<std::uint8_t>(from, Order::relaxed), 0};
    case 2:
      return {load_word<std::uint16_t>(from, Order::relaxed), 0};
    case 4:
      return {load_word<std::uint32_t>(from, Order::relaxed), 0};
    case 16:
      return load_16(from);
    default:
      return {load_word<std::uint64_t>(from, Order::relaxed), 0};
  }
}

}  // namespace

GridRaces::GridRaces(Races& of, std::uint32_t grid_number, std::uint32_t first_running, Clock begin,
                     const Grid& grid, TaskOrder tasks_before)
    : races(of),
      number(grid_number),
      floor(first_running),
      levels(levels_for(grid.block_count() * grid.thread_count())),
      start(std::move(begin)),
      before(std::move(tasks_before)),
      blocks(grid.blocks),
      cluster(grid.cluster) {}

BlockKey GridRaces::cluster_of(const BlockKey& block) const {
  if (block.grid != number) return {};
  return {number, cluster_number(blocks, cluster, block.block)};
}

std::shared_ptr<ClusterRaces> GridRaces::races_in_cluster(const Block& block) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t index = cluster_number(blocks, cluster, block.index);
  std::shared_ptr<ClusterRaces>& held = clusters_[index];
  if (held == nullptr) held = std::make_shared<ClusterRaces>();
  const std::shared_ptr<ClusterRaces> made = held;
  if (++made->blocks == block.grid->cluster_size()) clusters_.erase(index);
  return made;
}

std::unique_ptr<BlockWatch> GridRaces::watch(Block& block) {
  return std::make_unique<BlockRaces>(*this, block);
}

BlockRaces::BlockRaces(GridRaces& grid, Block& block)
    : grid_(grid),
      block_(block),
      key_{grid.number, block.index},
      cluster_key_(grid.cluster_of(key_)),
      alone_(block.grid->cluster_size() == 1),
      cluster_(grid.races_in_cluster(block)),
      lanes_(block.lanes.size()) {
  for (LaneClock& clock : lanes_) clock.known = grid.start;
}

std::uint64_t BlockRaces::number_of(const Lane& lane) const {
  return block_.index * lanes_.size() + lane.rank;
}

Clock BlockRaces::release(const Lane& lane) {
  LaneClock& clock = lanes_[lane.rank];
  return clock.known.with({grid_.number, grid_.levels, number_of(lane)}, clock.now++);
}

void BlockRaces::execute(Lane& lane, const Op& op) {
  if (op.access.kind == Access::Kind::fence) fence(lane, op.access);
  const Reached at = reached(lane, op);
  if (at.memory == Reached::Memory::other) {
    op.run(lane, op);
    return;
  }
  with_page(at.address, [&](Shadow::Page& page) { access(page, lane, op, at.address); });
}

void BlockRaces::with_page(std::uint64_t address, auto&& use) {
  if (block_.shared_range().holds(address, 1) ||
      (!alone_ && block_.cluster->rank_of(address) >= 0)) {
    return use(cluster_->shared.page(address));
  }
  Races::Shard& shard = grid_.races.shard_of(address);
  const std::lock_guard lock(shard.mutex);
  use(shard.shadow.page(address));
}

void BlockRaces::fence(const Lane& lane, const Access& access) {
  LaneClock& clock = lanes_[lane.rank];
  if (access.acquires) {
    clock.known.join(clock.seen_of_block);
    if (access.scope >= Scope::cluster) clock.known.join(clock.seen_of_cluster);
    if (access.scope >= Scope::device) clock.known.join(clock.seen_of_device);
    if (access.scope == Scope::system) clock.known.join(clock.seen_of_host);
    clock.missed = {};
  }
  if (!access.releases) return;
  const Clock all = release(lane);
  for (std::size_t scope = 0; scope <= static_cast<std::size_t>(access.scope); ++scope) {
    clock.fenced[scope] = all;
  }
}

// The lock of the page is held, so that what memory holds and what the page says of it agree. Only
// the host may write between.
void BlockRaces::access(Shadow::Page& page, Lane& lane, const Op& op, std::uint64_t address) {
  const Access& what = op.access;
  const std::uint32_t place = place_of(lane, op);
  const bool stores = what.kind == Access::Kind::store;
  LaneClock& clock = lanes_[lane.rank];
  const auto bits_in = [&](const Source& source) {
    return first_bytes(wide_bits(lane, source, what.bytes), what.bytes);
  };
  const auto element = [&](std::uint64_t at, bool writes, Time time) {
    note(page, lane, at,
         {grid_.number, time, number_of(lane), place, 0, what.bytes, writes, what.strong,
          what.is_mbarrier ? Scope::system : what.scope});
  };
  if (stores) {
    for (std::size_t index = 0; index < what.elements; ++index) {
      const std::uint64_t at = address + index * what.bytes;
      const Source& from = op.more.empty() ? op.b : op.more[index];
      element(at, true, clock.now);
      write(page, at, lane, what, place, bits_in(from));
    }
    op.run(lane, op);
    return;
  }
  const bool modifies = what.kind == Access::Kind::modify || what.kind == Access::Kind::compare ||
                        what.kind == Access::Kind::initialise;
  const Time now = clock.now;
  Clock given;
  if (modifies && what.releases) {
    given = release(lane);
  }
  // Before the write: the host may answer at once.
  if (modifies && what.scope == Scope::system) {
    given_to_host(lane, given);
  }
  const bool compares = what.kind == Access::Kind::compare;
  const Wide128 expected = compares ? bits_in(op.b) : Wide128{};
  op.run(lane, op);
  if (lane.state == LaneState::exited) return;
  Source result;
  result.kind = Source::Kind::reg;
  result.value = op.to;
  const Wide128 before = modifies ? bits_in(result) : Wide128{};
  const bool writes = modifies && (!compares || before == expected);
  for (std::size_t index = 0; index < what.elements; ++index) {
    const std::uint64_t at = address + index * what.bytes;
    element(at, writes, now);
    if (what.kind == Access::Kind::initialise) page.words.erase(at);
    if (!what.strong) continue;
    Word& word = word_read(page, at, what, modifies ? before : read_memory(at, what.bytes));
    Access seen = what;
    if (what.kind == Access::Kind::wait && (lane.regs[op.to] & 1) == 0) seen.acquires = false;
    observe(word, lane, seen, place);
    if (!writes) continue;
    const Wide128 written = read_memory(at, what.bytes);
    if (hidden_because(word, what) != nullptr) word.forget();
    word.by_host = false;
    write(page, at, lane, what, place, written);
    word.of_blocks[key_].join(given);
    if (!alone_ && what.scope >= Scope::cluster) word.of_clusters[cluster_key_].join(given);
    if (what.scope >= Scope::device) word.of_device.join(given);
  }
}

void BlockRaces::touches(Lane& lane, const Op& op, std::uint64_t address, std::uint32_t bytes,
                         bool writes) {
  with_page(address, [&](Shadow::Page& page) {  // A copy is aligned: of one page.
    note(page, lane, address,
         {grid_.number, lanes_[lane.rank].now, number_of(lane), place_of(lane, op), 0,
          static_cast<std::uint8_t>(bytes), writes, false, Scope::system});
    if (!writes) return;
    page.forget_words(address, address + bytes);
  });
}

void BlockRaces::note(Shadow::Page& page, const Lane& lane, std::uint64_t address, Footprint made) {
  // More than the launch began with: the lane learned it from the host.
  const std::uint64_t known = lanes_[lane.rank].known.ended();
  grid_.races.compare_with_copies(made, address, grid_.before,
                                  known > grid_.start.ended() ? known : 0);
  for (std::uint64_t at = address; at < address + made.size;) {
    const std::uint64_t first = at % cell_bytes;
    const std::uint64_t count = std::min(cell_bytes - first, address + made.size - at);
    made.bytes = static_cast<std::uint8_t>(((1u << count) - 1) << first);
    compare(page.cell(at), made, lane, at);
    at += count;
  }
}

bool BlockRaces::is_before(const Footprint& old, const LaneClock& clock) const {
  if (old.grid == grid_.number) return old.time <= clock.known.of(old.grid, old.lane);
  if (old.grid < grid_.floor) return true;
  const std::uint64_t end = grid_.races.end_of(old.grid);
  if (end != 0 && end <= clock.known.ended()) return true;
  return old.time <= clock.known.of(old.grid, old.lane);
}

bool BlockRaces::are_atomic_together(const Footprint& old, const Footprint& made) const {
  if (!old.strong || !made.strong || old.size != made.size || old.bytes != made.bytes) return false;
  const BlockKey block{old.grid, old.lane / lanes_.size()};
  const Scope least = std::min(old.scope, made.scope);
  return block == key_ || least >= Scope::device ||
         (least == Scope::cluster && grid_.cluster_of(block) == cluster_key_);
}

void BlockRaces::compare(Footprints& cell, const Footprint& made, const Lane& lane,
                         std::uint64_t address) {
  const LaneClock& clock = lanes_[lane.rank];
  for (std::size_t at = 0; at < cell.size();) {
    const Footprint& old = cell[at];
    if ((old.bytes & made.bytes) == 0) {
      ++at;
      continue;
    }
    const bool own = old.grid == made.grid && old.lane == made.lane;
    const bool before = own || is_before(old, clock);
    const bool conflict = old.writes || made.writes;
    bool raced = false;
    if (conflict && !before && !are_atomic_together(old, made)) {
      if (grid_.races.is_new(old.place, made.place)) {
        grid_.races.report(old, made, memory_text(address, made.size), clock.missed);
      }
      raced = true;
    }
    // Who is ordered behind the new one is ordered behind the old one, too.
    const bool covered =
        (old.bytes & ~made.bytes) == 0 && (made.writes || !old.writes) &&
        (!made.strong || (old.strong && old.size == made.size && old.scope >= made.scope));
    if (covered && (before || raced)) {
      cell.erase(cell.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      ++at;
    }
  }
  if (cell.size() >= footprints_max) {
    const auto same = std::find_if(cell.begin(), cell.end(), [&](const Footprint& old) {
      return old.grid == made.grid && old.lane / lanes_.size() == block_.index &&
             old.writes == made.writes;
    });
    cell.erase(same == cell.end() ? cell.begin() : same);
  }
  cell.push_back(made);
}

// The word as the read finds it. A value that no lane is known to have written is the host's.
Word& BlockRaces::word_read(Shadow::Page& page, std::uint64_t address, const Access& access,
                            Wide128 value) {
  const auto [found, is_new] = page.words.try_emplace(address);
  Word& word = found->second;
  const std::uint64_t both = std::min(word.bytes, access.bytes);
  if (!is_new && first_bytes(word.value, both) == first_bytes(value, both)) return word;
  word.forget();
  word.by_host = true;
  word.strong = true;
  word.scope = Scope::system;
  word.bytes = access.bytes;
  word.place = 0;
  word.value = value;
  word.of_host = grid_.races.host_clock();
  return word;
}

const char* BlockRaces::hidden_because(const Word& word, const Access& access) const {
  // Each arrival in a phase is ordered before the wait by its own scope: the clocks tell.
  if (access.is_mbarrier) return nullptr;
  if (!word.strong) return "a plain store orders nothing";
  if (word.bytes != access.bytes) return "the two have different sizes";
  if (word.by_host)
    return access.scope == Scope::system ? nullptr : "the scope of the host is .sys";
  if (word.block == key_) return nullptr;
  if (grid_.cluster_of(word.block) == cluster_key_ && word.scope >= Scope::cluster &&
      access.scope >= Scope::cluster) {
    return nullptr;
  }
  if (word.scope == Scope::block)
    return "the write has the scope .cta, and the reader is in another block";
  if (access.scope == Scope::block)
    return "the read has the scope .cta, and the writer is in another block";
  if (word.scope == Scope::cluster)
    return "the write has the scope .cluster, and the reader is in another cluster";
  if (access.scope == Scope::cluster)
    return "the read has the scope .cluster, and the writer is in another cluster";
  return nullptr;
}

void BlockRaces::observe(Word& word, const Lane& lane, const Access& access, std::uint32_t place) {
  LaneClock& clock = lanes_[lane.rank];
  const char* why = hidden_because(word, access);
  if (why == nullptr) {
    const auto of_block = word.of_blocks.find(key_);
    const bool has_block = of_block != word.of_blocks.end();
    clock.seen_of_device.join(word.of_device);
    clock.seen_of_host.join(word.of_host);
    if (has_block) clock.seen_of_block.join(of_block->second);
    const auto of_cluster = word.of_clusters.find(cluster_key_);
    const bool has_cluster = !alone_ && of_cluster != word.of_clusters.end();
    if (has_cluster) clock.seen_of_cluster.join(of_cluster->second);
    const bool of_scope = has_cluster && access.scope >= Scope::cluster;
    const bool wide = access.scope >= Scope::device;
    if (access.acquires) {
      if (has_block) clock.known.join(of_block->second);
      if (of_scope) clock.known.join(of_cluster->second);
      if (wide) clock.known.join(word.of_device);
      if (access.scope == Scope::system) clock.known.join(word.of_host);
    }
    const bool gave = has_block || of_scope || (wide && !word.of_device.empty());
    why = !gave              ? "that write releases nothing to this lane"
          : !access.acquires ? "that read acquires nothing, and no fence follows it"
                             : nullptr;
  }
  const bool same = clock.missed.grid == word.block.grid && clock.missed.lane == word.lane;
  if (why == nullptr && same) clock.missed = {};
  if (why != nullptr && !word.by_host && word.lane != number_of(lane)) {
    clock.missed = {word.block.grid, word.lane, word.place, place, why};
  }
}

void BlockRaces::write(Shadow::Page& page, std::uint64_t address, const Lane& lane,
                       const Access& access, std::uint32_t place, Wide128 value) {
  Word* word = page.word(address);
  if (word == nullptr) {
    if (!access.strong) return;
    word = &page.words[address];
  }
  // Of one lane, a later atomic write gives away what the earlier ones did.
  const bool goes_on = access.strong && word->strong && !word->by_host && word->block == key_ &&
                       word->lane == number_of(lane) && word->bytes == access.bytes;
  if (access.kind == Access::Kind::store && !goes_on) word->forget();
  word->by_host = false;
  word->strong = access.strong;
  word->scope = access.scope;
  word->bytes = access.bytes;
  word->place = place;
  word->block = key_;
  word->lane = number_of(lane);
  word->value = value;
  if (!access.strong) return;
  LaneClock& clock = lanes_[lane.rank];
  const auto scope_block = static_cast<std::size_t>(Scope::block);
  const auto scope_cluster = static_cast<std::size_t>(Scope::cluster);
  const auto scope_device = static_cast<std::size_t>(Scope::device);
  if (!clock.fenced[scope_block].empty()) word->of_blocks[key_].join(clock.fenced[scope_block]);
  if (!alone_ && !clock.fenced[scope_cluster].empty()) {
    word->of_clusters[cluster_key_].join(clock.fenced[scope_cluster]);
  }
  word->of_device.join(clock.fenced[scope_device]);
  if (access.kind != Access::Kind::store) return;
  Clock given;
  if (access.releases) {
    given = release(lane);
    word->of_blocks[key_].join(given);
    if (!alone_ && access.scope >= Scope::cluster) word->of_clusters[cluster_key_].join(given);
    if (access.scope >= Scope::device) word->of_device.join(given);
  }
  if (access.scope == Scope::system) given_to_host(lane, given);
}

void BlockRaces::given_to_host(const Lane& lane, const Clock& given) {
  const Clock& fenced = lanes_[lane.rank].fenced[static_cast<std::size_t>(Scope::system)];
  if (!fenced.empty()) grid_.races.tell_host(fenced);
  if (!given.empty()) grid_.races.tell_host(given);
}

void Meeting::join(std::uint64_t lane, const Clock& clock, Time until) {
  known.join(clock);
  times.emplace_back(lane, until);
}

Clock Meeting::known_to_all(const LaneKey& grid) {
  std::sort(times.begin(), times.end());
  return known.with(grid, times);
}

void BlockRaces::join(Meeting& meeting, const Lane& lane) {
  LaneClock& clock = lanes_[lane.rank];
  meeting.join(number_of(lane), clock.known, clock.now++);
}

void BlockRaces::arrives(Lane& lane, std::uint32_t barrier) { join(barriers_[barrier], lane); }

void BlockRaces::opens(std::uint32_t barrier) {
  const Clock all = barriers_[barrier].known_to_all(grid_.key());
  for (const Lane& lane : block_.lanes) {
    if (lane.state != LaneState::barrier || lane.waits_barrier != barrier) continue;
    lanes_[lane.rank].known = all;
  }
  barriers_[barrier] = {};
}

void BlockRaces::meets(std::uint32_t first, std::uint32_t mask) {
  Meeting meeting;
  const auto each = [&](auto&& with) {
    for (std::uint32_t at = 0; at < warp_lanes; ++at) {
      if ((mask >> at & 1) != 0) with(block_.lanes[first + at]);
    }
  };
  each([&](const Lane& lane) { join(meeting, lane); });
  const Clock all = meeting.known_to_all(grid_.key());
  each([&](const Lane& lane) { lanes_[lane.rank].known = all; });
}

void BlockRaces::arrives_at_cluster(Lane& lane, bool releases) {
  if (releases) join(cluster_->arriving, lane);
}

// Said to each block: the first one has emptied the meeting for the others.
void BlockRaces::opens_cluster() {
  if (cluster_->arriving.times.empty()) return;
  cluster_->opened = cluster_->arriving.known_to_all(grid_.key());
  cluster_->arriving = {};
}

void BlockRaces::passes_cluster(Lane& lane, bool acquires) {
  if (acquires) lanes_[lane.rank].known.join(cluster_->opened);
}

std::string BlockRaces::memory_text(std::uint64_t address, std::uint64_t bytes) const {
  const std::string size = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (const Range shared = block_.shared_range(); shared.holds(address, 1)) {
    return size + " at " + hexadecimal(address - shared.begin) + " of shared memory";
  }
  if (const int rank = block_.cluster->rank_of(address); rank >= 0) {
    const auto& member = block_.cluster->members[static_cast<std::size_t>(rank)];
    return size + " at " + hexadecimal(address - member.shared.begin) +
           " of the shared memory of block " + std::to_string(rank) + " of the cluster";
  }
  const Range range = block_.grid->memory->find(address);
  return size + " at " + hexadecimal(address) + ", byte " + std::to_string(address - range.begin) +
         " of an allocation of " + std::to_string(range.end - range.begin);
}

}  // namespace k2k::emulator::exec::check
