// Races: the grids that run, what the host knows, and the sentences.

#include <algorithm>

#include "emulator/cuda/exec/check/places.hpp"
#include "emulator/cuda/exec/check/races.hpp"

namespace k2k::emulator::exec::check {

namespace {

std::uint64_t lanes_of(const LaunchNote& note) {
  return std::uint64_t{note.threads[0]} * note.threads[1] * note.threads[2];
}

// "an atomic load (.gpu) at m.ptx:12 `…` by block (0,0,0), thread (1,0,0)"
std::string side(const Footprint& of, const LaunchNote& note) {
  constexpr std::array scopes{" (.cta)", " (.gpu)", " (.sys)"};
  std::string text = of.strong ? "an atomic " : "a plain ";
  text += of.writes ? "write" : "read";
  if (of.strong) text += scopes[static_cast<std::size_t>(of.scope)];
  return text + " at " + text_of_place(of.place, note.kernel) + " by " +
         lane_text(note.blocks, note.threads, of.lane / lanes_of(note),
                   static_cast<std::uint32_t>(of.lane % lanes_of(note)));
}

std::string remedy(const Footprint& first, const Footprint& second, bool same_block) {
  if (first.strong && second.strong) {
    return first.size != second.size || first.bytes != second.bytes
               ? "accesses of different sizes are not atomic towards each other: give both one "
                 "size "
                 "and address, or order them"
               : "both are atomic, but .cta reaches one block alone: both need the scope .gpu or "
                 ".sys";
  }
  const std::string scope = same_block ? ".cta or wider" : ".gpu or .sys";
  const std::string barrier =
      same_block ? "a barrier between them (bar.sync, or bar.warp.sync within a warp), or " : "";
  return "needed: " + barrier +
         "a release after the first that the second lane acquires, of scope " + scope +
         "; or both accesses atomic, of that scope";
}

}  // namespace

std::shared_ptr<GridWatch> Races::begin(const Grid& grid) {
  // Held to the end: a launch that begins meanwhile would have its lanes' first accesses wiped.
  const std::lock_guard begin_lock(begin_mutex_);
  const Clock start = host_clock();
  bool is_alone = false;
  {
    const std::lock_guard lock(mutex_);
    is_alone = running_.empty();
  }
  if (is_alone) {  // What ended launches did is before everything that comes.
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      shard.shadow = Shadow();
    }
  }
  const std::lock_guard lock(mutex_);
  if (is_alone) launches_.clear();
  const std::uint32_t number = ++begun_;
  launches_[number] = {grid.entry->name, grid.blocks, grid.threads, 0};
  running_.insert(number);
  return std::make_shared<GridRaces>(*this, number, *running_.begin(),
                                     start.with_end(number, ended_), grid);
}

void Races::end(std::uint32_t grid) {
  const std::scoped_lock lock(mutex_, host_mutex_);
  launches_[grid].ended = ++ended_;
  running_.erase(grid);
  host_ = running_.empty() ? Clock().with_end(grid, ended_) : host_.with_end(grid, ended_);
}

std::uint64_t Races::end_of(std::uint32_t grid) {
  const std::lock_guard lock(mutex_);
  const auto found = launches_.find(grid);
  return found == launches_.end() ? 1 : found->second.ended;
}

void Races::forget(std::uint64_t begin, std::uint64_t end) {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.shadow.forget(begin, end);
  }
}

void Races::tell_host(const Clock& clock) {
  const std::lock_guard lock(host_mutex_);
  host_.join(clock);
}

Clock Races::host_clock() {
  const std::lock_guard lock(host_mutex_);
  return host_;
}

bool Races::is_new(const Footprint& first, const Footprint& second) {
  const std::lock_guard lock(mutex_);
  if (reported_.size() >= race_reports_max) return false;
  if (!reported_.insert(std::minmax(first.place, second.place)).second) return false;
  count_.fetch_add(1);
  return true;
}

void Races::report(const Footprint& first, const Footprint& second, const std::string& memory,
                   const Missed& missed) {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    const LaunchNote& one = launches_[first.grid];
    const LaunchNote& other = launches_[second.grid];
    const bool same_block =
        first.grid == second.grid && first.lane / lanes_of(one) == second.lane / lanes_of(other);
    text = "race in kernel " + other.kernel + " on " + memory + ": " + side(first, one) +
           (first.grid == second.grid ? "" : " of kernel " + one.kernel) + ", then " +
           side(second, other) + "; " + remedy(first, second, same_block);
    if (missed.read != 0 && missed.grid == first.grid && missed.lane == first.lane) {
      text += ". The second lane read, at " + text_of_place(missed.read, other.kernel) +
              ", what the first one wrote at " + text_of_place(missed.written, other.kernel) +
              ", but " + missed.why;
    }
  }
  say_(text);
}

}  // namespace k2k::emulator::exec::check
