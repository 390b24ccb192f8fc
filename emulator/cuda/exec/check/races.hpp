#pragma once
// Races between lanes, by PTX's memory model: two accesses to a byte, at least one of them a write,
// that are not ordered by "happens before" and are not both atomic, of one size, and of scopes that
// include each other's lane.
//
//   Races        of a device: all grids, the shadow of global memory, the reports
//   GridRaces    one launch
//   BlockRaces   the clocks of a block's lanes
//   ClusterRaces the shadow of the shared memory of a cluster's blocks, and its barrier
//
// What orders: program order; barriers of the block, the warp and the cluster; a release that an
// acquire observes, each of a scope that includes the other's lane, with fences and
// read-modify-writes between; the end of a launch. Lanes are compared with lanes, and with
// copies by calls of the driver (copies.hpp). The host takes part as a carrier: it knows what lanes
// released to the system, and whatever an acquire of the system reads that no lane wrote is the
// host's, and brings all that the host knows. A launch begins with it as well.
//
// Threading: Races from any thread; of the others as exec/watch.hpp says.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/check/clock.hpp"
#include "emulator/cuda/exec/check/copies.hpp"
#include "emulator/cuda/exec/check/shadow.hpp"
#include "emulator/cuda/exec/check/tasks.hpp"
#include "emulator/cuda/exec/watch.hpp"

namespace k2k::emulator::exec::check {

inline constexpr std::size_t race_reports_max = 1000;
// Ended launches that the host did not wait for, of which a copy may still find accesses.
inline constexpr std::size_t launches_kept_max = 256;

// Of one launch, for reports that may outlive it.
struct LaunchNote {
  std::string kernel;
  Extent blocks{1, 1, 1};
  Extent threads{1, 1, 1};
  Extent cluster{1, 1, 1};
  std::uint64_t ended = 0;  // The number of its end; 0: it runs.
  Task task;
};

// The last atomic read that observed another lane's write and ordered nothing.
struct Missed {
  std::uint32_t grid = 0;
  std::uint64_t lane = 0;  // The writer.
  std::uint32_t written = 0;
  std::uint32_t read = 0;  // 0: none.
  const char* why = "";
};

class Races {
 public:
  using Say = std::function<void(const std::string&)>;
  explicit Races(Say say) : say_(std::move(say)) {}

  // Before the grid starts.
  std::shared_ptr<GridWatch> begin(const Grid& grid, const PlacedTask& place = {});
  // Before the driver copies or sets memory.
  void copy(const Copy& copy);
  // What lanes have told the host until now.
  [[nodiscard]] Clock told();
  // The host waited for the end of all in `order`.
  void host_knows(const TaskOrder& order);
  // The memory was given back.
  void forget(std::uint64_t begin, std::uint64_t end);
  // Pairs of instructions that raced.
  [[nodiscard]] std::uint64_t count() const { return count_.load(); }

 private:
  friend class GridRaces;
  friend class BlockRaces;

  struct Shard {
    std::mutex mutex;
    Shadow shadow;
  };
  static constexpr std::size_t shards = 64;

  Shard& shard_of(std::uint64_t address) { return shards_[address / shadow_page_bytes % shards]; }
  // The host learns what a lane released to the system; and all that it knows.
  void tell_host(const Clock& clock);
  [[nodiscard]] Clock host_clock();
  void end(std::uint32_t grid);
  // The number of that grid's end.
  [[nodiscard]] std::uint64_t end_of(std::uint32_t grid);
  // True once for a pair of instructions, until there are too many.
  bool is_new(std::uint32_t first, std::uint32_t second);
  // The access of a lane, with copies: its launch is behind `before`, it knows of ends up to
  // `known`.
  void compare_with_copies(const Footprint& access, std::uint64_t address, const TaskOrder& before,
                           std::uint64_t known);
  void compare_with_lanes(Shadow::Page& page, const Copy& copy, std::uint64_t page_begin);
  [[nodiscard]] bool is_before(const Footprint& access, const Copy& copy);
  void report_copy(const Footprint& access, const Copy& copy, std::uint64_t address,
                   bool copy_is_first);
  [[nodiscard]] bool host_knows_all_launches() const;
  void report(const Footprint& first, const Footprint& second, const std::string& memory,
              const Missed& missed);

  const Say say_;
  std::mutex begin_mutex_;  // One launch begins at a time; taken before all other mutexes.
  std::array<Shard, shards> shards_;
  std::mutex host_mutex_;
  Clock host_;
  Clock told_;  // As host_, but of ended launches, too, until the host knows all their ends.
  Copies copies_;
  std::mutex mutex_;                              // Of what follows.
  std::map<std::uint32_t, LaunchNote> launches_;  // Those that run, and those that ended meanwhile.
  std::set<std::uint32_t> running_;
  std::uint32_t begun_ = 0;
  std::uint64_t ended_ = 0;
  TaskOrder host_tasks_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> reported_;  // Places.
  std::atomic<std::uint64_t> count_{0};
};

// What lanes that meet know together.
struct Meeting {
  Clock known;
  Clock::Times times;

  // A lane that knows `clock` comes, with the time of what it did until now.
  void join(std::uint64_t lane, const Clock& clock, Time until);
  // Of lanes of that grid.
  [[nodiscard]] Clock known_to_all(const LaneKey& grid);
};

// Of the thread of the cluster's multiprocessor.
struct ClusterRaces {
  Shadow shared;
  Meeting arriving;
  Clock opened;              // What those knew who arrived in the last phase.
  std::uint32_t blocks = 0;  // That have a watch.
};

class GridRaces final : public GridWatch {
 public:
  GridRaces(Races& of, std::uint32_t grid_number, std::uint32_t first_running, Clock begin,
            const Grid& grid, TaskOrder tasks_before);
  std::unique_ptr<BlockWatch> watch(Block& block) override;
  void end() override { races.end(number); }
  // Of the block's cluster.
  std::shared_ptr<ClusterRaces> races_in_cluster(const Block& block);
  // The cluster of a block; {} for one of another grid.
  [[nodiscard]] BlockKey cluster_of(const BlockKey& block) const;
  [[nodiscard]] LaneKey key() const { return {number, levels, 0}; }

  Races& races;
  const std::uint32_t number;
  const std::uint32_t floor;  // Grids below had ended when this one began.
  const std::uint32_t levels;
  const Clock start;
  const TaskOrder before;
  const Extent blocks;
  const Extent cluster;

 private:
  std::mutex mutex_;
  // That not all blocks have yet.
  std::map<std::uint64_t, std::shared_ptr<ClusterRaces>> clusters_;
};

class BlockRaces final : public BlockWatch {
 public:
  BlockRaces(GridRaces& grid, Block& block);

  void execute(Lane& lane, const Op& op) override;
  void touches(Lane& lane, const Op& op, std::uint64_t address, std::uint32_t bytes,
               bool writes) override;
  void arrives(Lane& lane, std::uint32_t barrier) override;
  void opens(std::uint32_t barrier) override;
  void meets(std::uint32_t first, std::uint32_t mask) override;
  void arrives_at_cluster(Lane& lane, bool releases) override;
  void opens_cluster() override;
  void passes_cluster(Lane& lane, bool acquires) override;

 private:
  struct LaneClock {
    Clock known;   // Happened before, of other lanes.
    Time now = 1;  // Of the lane's own accesses; counted when others may learn of them.
    // Seen by atomic reads that acquire nothing: a fence makes it known.
    Clock seen_of_block, seen_of_cluster, seen_of_device, seen_of_host;
    // Known when the lane last made a fence of that scope or a wider one: its later atomic writes
    // release it.
    std::array<Clock, 4> fenced;
    Missed missed;
  };

  [[nodiscard]] std::uint64_t number_of(const Lane& lane) const;
  // What the lane and all before it did; begins a new time.
  Clock release(const Lane& lane);
  void fence(const Lane& lane, const Access& access);
  // Under the lock of the page.
  void with_page(std::uint64_t address, auto&& use);
  void access(Shadow::Page& page, Lane& lane, const Op& op, std::uint64_t address);
  // Compares an access with those before it and keeps it, cell by cell; fills in Footprint::bytes.
  void note(Shadow::Page& page, const Lane& lane, std::uint64_t address, Footprint made);
  void compare(Footprints& cell, const Footprint& made, const Lane& lane, std::uint64_t address);
  [[nodiscard]] bool is_before(const Footprint& old, const LaneClock& clock) const;
  [[nodiscard]] bool are_atomic_together(const Footprint& old, const Footprint& made) const;
  void observe(Word& word, const Lane& lane, const Access& access, std::uint32_t place);
  [[nodiscard]] const char* hidden_because(const Word& word, const Access& access) const;
  void write(Shadow::Page& page, std::uint64_t address, const Lane& lane, const Access& access,
             std::uint32_t place, Wide128 value);
  // What the write of the system that the lane is about to make gives the host.
  void given_to_host(const Lane& lane, const Clock& given);
  Word& word_read(Shadow::Page& page, std::uint64_t address, const Access& access, Wide128 value);
  void join(Meeting& meeting, const Lane& lane);
  [[nodiscard]] std::string memory_text(std::uint64_t address, std::uint64_t bytes) const;

  GridRaces& grid_;
  Block& block_;
  const BlockKey key_;
  const BlockKey cluster_key_;  // Its number instead of the block's.
  const bool alone_;            // In its cluster.
  const std::shared_ptr<ClusterRaces> cluster_;
  std::vector<LaneClock> lanes_;
  std::array<Meeting, barriers_max> barriers_;
};

}  // namespace k2k::emulator::exec::check
