#pragma once
// Moves servicing threads to other cores, or caps their CPU time, and restores them.
//
// It reaches threads that the kernel lets a user move. It does not reach hard interrupts and
// softirqs, which have no thread, and threads that the kernel binds to a core (PF_NO_SETAFFINITY):
// per-core kworkers, ksoftirqd.
//
// Threading: one caller at a time for each state file; a second one is refused.

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/watch/report.hpp"
#include "cli/watch/steer/state.hpp"

namespace k2k::watch {

struct Servicing {
  ThreadStat stat;
  Place place;
};

// Threads that serve a device: all with a place whose kind is neither kernel nor interrupts. With
// `parts`, those of these parts alone.
std::vector<Servicing> servicing_threads(const Snapshot& snapshot, const Rules& rules,
                                         const std::map<unsigned, InterruptOwner>& owners,
                                         const std::vector<std::string>& parts);

struct Wanted {
  std::optional<std::vector<int>> cores;
  std::optional<double> cap;  // Of one core, for each thread.
};

// The lines say what happened to each thread, with the reason where nothing did.
struct Steered {
  std::vector<std::string> lines;
  std::size_t changed = 0;
  std::size_t left = 0;  // Not changed, or not restored, though the thread lives.
};

// Errors: EEXIST, the state file has the changes of an earlier call; EPERM, no right to change any
// of the threads; ENXIO, the wanted cores went offline meanwhile; of writing the file. Then no
// thread is changed, or all are restored.
Result<Steered> steer(const Roots& roots, const Wanted& wanted,
                      const std::vector<Servicing>& threads, const std::string& state_path);

// Restores the threads of the state file, and removes it unless some were refused.
// Errors: as load_state(); of writing and removing the file.
Result<Steered> undo(const Roots& roots, const std::string& state_path);

}  // namespace k2k::watch
