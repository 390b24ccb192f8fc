// Races: the grids that run, what the host knows, and the sentences.

#include <algorithm>

#include "emulator/cuda/exec/check/places.hpp"
#include "emulator/cuda/exec/check/races.hpp"
#include "emulator/cuda/exec/ops/access.hpp"

namespace k2k::emulator::exec::check {

namespace {

std::uint64_t lanes_of(const LaunchNote& note) {
  return std::uint64_t{note.threads[0]} * note.threads[1] * note.threads[2];
}

// "an atomic load (.gpu) at m.ptx:12 `…` by block (0,0,0), thread (1,0,0)"
std::string side(const Footprint& of, const LaunchNote& note) {
  constexpr std::array scopes{" (.cta)", " (.cluster)", " (.gpu)", " (.sys)"};
  std::string text = of.strong ? "an atomic " : "a plain ";
  text += of.writes ? "write" : "read";
  if (of.strong) text += scopes[static_cast<std::size_t>(of.scope)];
  return text + " at " + text_of_place(of.place, note.kernel) + " by " +
         lane_text(note.blocks, note.threads, of.lane / lanes_of(note),
                   static_cast<std::uint32_t>(of.lane % lanes_of(note)));
}

// How near the lanes of a race are.
enum class Near : std::uint8_t { block, cluster, device };

std::string remedy(const Footprint& first, const Footprint& second, Near near) {
  const bool same_block = near == Near::block;
  if (first.strong && second.strong) {
    return first.size != second.size || first.bytes != second.bytes
               ? "accesses of different sizes are not atomic towards each other: give both one "
                 "size "
                 "and address, or order them"
           : near == Near::cluster
               ? "both are atomic, but .cta reaches one block alone: both need the scope .cluster "
                 "or wider"
           : std::min(first.scope, second.scope) == Scope::cluster
               ? "both are atomic, but .cluster reaches one cluster alone: both need the scope "
                 ".gpu or .sys"
               : "both are atomic, but .cta reaches one block alone: both need the scope .gpu or "
                 ".sys";
  }
  const std::string scope = same_block              ? ".cta or wider"
                            : near == Near::cluster ? ".cluster or wider"
                                                    : ".gpu or .sys";
  const std::string barrier =
      same_block ? "a barrier between them (bar.sync, or bar.warp.sync within a warp), or "
      : near == Near::cluster ? "a barrier of the cluster between them (barrier.cluster), or "
                              : "";
  return "needed: " + barrier +
         "a release after the first that the second lane acquires, of scope " + scope +
         "; or both accesses atomic, of that scope";
}

// A word that a kernel polls may be set by a call.
bool is_let_be(const Footprint& access) { return access.strong && access.scope == Scope::system; }

}  // namespace

std::shared_ptr<GridWatch> Races::begin(const Grid& grid, const PlacedTask& place) {
  // Held to the end: a launch that begins meanwhile would have its lanes' first accesses wiped.
  const std::lock_guard begin_lock(begin_mutex_);
  const Clock start = host_clock();
  bool is_alone = false;
  bool is_known = false;
  {
    const std::lock_guard lock(mutex_);
    is_alone = running_.empty();
    is_known = host_knows_all_launches();
  }
  if (is_alone) {  // What ended launches did is before every lane that comes.
    copies_.forget_ended();
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      if (is_known) {
        shard.shadow = Shadow();
      } else {
        shard.shadow.forget_words();
      }
    }
  }
  const std::lock_guard lock(mutex_);
  if (is_alone && is_known) {
    launches_.clear();
    const std::lock_guard host_lock(host_mutex_);
    told_ = Clock();
  }
  const std::uint32_t number = ++begun_;
  launches_[number] = {grid.entry->name, grid.blocks, grid.threads, grid.cluster, 0, place.task};
  running_.insert(number);
  const std::uint64_t ended = ended_++;
  {  // What lanes learn of the host from now on has a number that they do not begin with.
    const std::lock_guard host_lock(host_mutex_);
    host_ = host_.with_end(0, ended_);
  }
  return std::make_shared<GridRaces>(*this, number, *running_.begin(),
                                     start.with_end(number, ended), grid, place.before);
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
  copies_.forget(begin, end);
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.shadow.forget(begin, end);
  }
}

void Races::tell_host(const Clock& clock) {
  const std::lock_guard lock(host_mutex_);
  host_.join(clock);
  told_.join(clock);
}

Clock Races::told() {
  const std::lock_guard lock(host_mutex_);
  return told_;
}

bool Races::host_knows_all_launches() const {
  return launches_.size() > launches_kept_max ||
         std::all_of(launches_.begin(), launches_.end(), [&](const auto& launch) {
           const Task& task = launch.second.task;
           return task.stream == 0 || host_tasks_.covers(task);
         });
}

void Races::host_knows(const TaskOrder& order) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    host_tasks_.join(order);
    number = ++ended_;
  }
  copies_.end(order, number);
  // Last: a lane that learns of the number finds it at the copies.
  const std::lock_guard lock(host_mutex_);
  host_ = host_.with_end(0, number);
}

// The copy is known before the lanes are looked at, and a lane looks at the copies with its page
// locked: one of the two finds the other.
void Races::copy(const Copy& copy) {
  copies_.add(copy);
  constexpr std::uint64_t page = shadow_page_bytes;
  for (std::uint64_t at = copy.begin / page * page; at < copy.end; at += page) {
    Shard& shard = shard_of(at);
    const std::lock_guard lock(shard.mutex);
    if (Shadow::Page* const known = shard.shadow.known_page(at)) {
      compare_with_lanes(*known, copy, at);
    }
  }
}

void Races::compare_with_lanes(Shadow::Page& page, const Copy& copy, std::uint64_t page_begin) {
  const std::uint64_t begin = std::max(copy.begin, page_begin);
  const std::uint64_t end = std::min(copy.end, page_begin + shadow_page_bytes);
  for (std::uint64_t cell = begin / cell_bytes * cell_bytes; cell < end; cell += cell_bytes) {
    // The bytes of the cell that the copy touches.
    const std::uint64_t first = std::max(begin, cell) - cell;
    const std::uint64_t last = std::min(end, cell + cell_bytes) - cell;
    const auto bytes = static_cast<std::uint8_t>((1u << last) - (1u << first));
    for (const Footprint& access : page.cell(cell)) {
      if ((access.bytes & bytes) == 0 || (!copy.writes && !access.writes)) continue;
      if (is_let_be(access) || is_before(access, copy)) continue;
      report_copy(access, copy, cell + first, false);
    }
  }
}

bool Races::is_before(const Footprint& access, const Copy& copy) {
  const std::lock_guard lock(mutex_);
  const auto launch = launches_.find(access.grid);
  if (launch == launches_.end()) return true;
  const LaunchNote& note = launch->second;
  if (note.task.stream == 0 && note.ended != 0) return true;
  return copy.place.before.covers(note.task) ||
         copy.told.of(access.grid, access.lane) >= access.time;
}

void Races::compare_with_copies(const Footprint& access, std::uint64_t address,
                                const TaskOrder& before, std::uint64_t known) {
  Copy copy;
  if (is_let_be(access) || !copies_.unordered(access, address, before, known, copy)) return;
  report_copy(access, copy, address, true);
}

void Races::report_copy(const Footprint& access, const Copy& copy, std::uint64_t address,
                        bool copy_is_first) {
  const std::string call = copy.call_name();
  if (!is_new(access.place, place_of_call(call))) return;
  LaunchNote note;
  {
    const std::lock_guard lock(mutex_);
    note = launches_[access.grid];
  }
  const std::string of_lane = side(access, note);
  const std::string of_call = "the call " + call;
  say_("race between kernel " + note.kernel + " and " + call + " at " + hexadecimal(address) +
       ", " + copy.text(address) + ": " + (copy_is_first ? of_call : of_lane) + ", then " +
       (copy_is_first ? of_lane : of_call) +
       "; no stream, event or wait of the host orders the two. Needed: one stream for both, "
       "cuStreamWaitEvent in the stream of the later one, or a wait of the host before it is given "
       "to its stream");
}

Clock Races::host_clock() {
  const std::lock_guard lock(host_mutex_);
  return host_;
}

bool Races::is_new(std::uint32_t first, std::uint32_t second) {
  const std::lock_guard lock(mutex_);
  if (reported_.size() >= race_reports_max) return false;
  if (!reported_.insert(std::minmax(first, second)).second) return false;
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
    const std::uint64_t one_block = first.lane / lanes_of(one);
    const std::uint64_t other_block = second.lane / lanes_of(other);
    const auto cluster = [&](std::uint64_t block) {
      return cluster_number(one.blocks, one.cluster, block);
    };
    const Near near = first.grid != second.grid                    ? Near::device
                      : one_block == other_block                   ? Near::block
                      : cluster(one_block) == cluster(other_block) ? Near::cluster
                                                                   : Near::device;
    text = "race in kernel " + other.kernel + " on " + memory + ": " + side(first, one) +
           (first.grid == second.grid ? "" : " of kernel " + one.kernel) + ", then " +
           side(second, other) + "; " + remedy(first, second, near);
    if (missed.read != 0 && missed.grid == first.grid && missed.lane == first.lane) {
      text += ". The second lane read, at " + text_of_place(missed.read, other.kernel) +
              ", what the first one wrote at " + text_of_place(missed.written, other.kernel) +
              ", but " + missed.why;
    }
  }
  say_(text);
}

}  // namespace k2k::emulator::exec::check
