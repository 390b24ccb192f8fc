#include "cli/watch/steer/steering.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/watch/replace_file.hpp"

namespace k2k::watch {

namespace {

std::string thread_text(int thread, const std::string& name) {
  return fmt::format("{} (thread {})", name, thread);
}

bool lives(const Roots& roots, const Change& change) {
  const auto found = find_thread(roots, change.thread);
  return found && found->start_ticks == change.start_ticks;
}

// Why the kernel refuses SCHED_DEADLINE for a thread.
std::string cap_refusal(int thread, const Error& error) {
  const Result<std::vector<int>> cores = cores_of_thread(thread);
  const auto online = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  if (error.code == EPERM && cores && cores->size() < online) {
    return fmt::format(
        "SCHED_DEADLINE needs a thread that may use every core, and this one may use "
        "only {}",
        list_of(cores.value()));
  }
  if (error.code == EPERM) {
    return error.message + "; it needs CAP_SYS_NICE, and a kernel thread that may use every core";
  }
  if (error.code == EBUSY) {
    return "Linux has promised its deadline threads too much CPU time already "
           "(/proc/sys/kernel/sched_rt_runtime_us)";
  }
  return error.message;
}

// The state before the change; a line if the thread is not to be changed.
std::optional<Change> plan(const Roots& roots, const Servicing& thread, const Wanted& wanted,
                           Steered& steered) {
  const int number = thread.stat.id;
  const std::string text = thread_text(number, thread.stat.name);
  const auto leave = [&](const std::string& reason) {
    steered.lines.push_back(text + " is left: " + reason);
    ++steered.left;
    return std::nullopt;
  };
  if (!may_change(roots, number)) return leave("it belongs to another user");
  Change change;
  change.thread = number;
  change.start_ticks = thread.stat.start_ticks;
  change.name = thread.stat.name;
  if (wanted.cores) {
    if (thread.stat.is_pinned()) return leave("Linux binds it to its cores");
    Result<std::vector<int>> cores = permitted_cores(roots, number);
    if (!cores) return leave(cores.error().message);
    change.cores = std::move(cores).value();
  }
  if (wanted.cap) {
    const Result<Policy> policy = policy_of_thread(number);
    if (!policy) return leave(policy.error().message);
    change.policy = policy.value();
  }
  return change;
}

// Cores of a list that the machine has and that are offline; none if that cannot be read.
std::vector<int> offline_of(const Roots& roots, const std::vector<int>& cores) {
  const auto online = cores_of(line_of_file(roots.sys + "/devices/system/cpu/online"));
  const auto possible = cores_of(line_of_file(roots.sys + "/devices/system/cpu/present"));
  std::vector<int> offline;
  if (!online || !possible) return offline;
  for (const int core : cores) {
    const bool there = std::find(possible->begin(), possible->end(), core) != possible->end();
    const bool runs = std::find(online->begin(), online->end(), core) != online->end();
    if (there && !runs) offline.push_back(core);
  }
  return offline;
}

// Sets `lost` if all cores that the thread should use went offline.
bool apply(const Roots& roots, const Change& change, const Wanted& wanted, Steered& steered,
           bool& lost) {
  const std::string text = thread_text(change.thread, change.name);
  const auto leave = [&](const std::string& reason) {
    steered.lines.push_back(text + " is left: " + reason);
    ++steered.left;
    return false;
  };
  if (wanted.cores) {
    const Status set = set_cores(change.thread, *wanted.cores);
    if (!set) {
      lost = set.error().code == EINVAL &&
             offline_of(roots, *wanted.cores).size() == wanted.cores->size();
      return leave(set.error().message);
    }
    steered.lines.push_back(fmt::format("{}: cores {} instead of {}", text, list_of(*wanted.cores),
                                        list_of(*change.cores)));
  }
  if (wanted.cap) {
    const Status set = set_policy(change.thread, capped_at(*wanted.cap));
    if (!set) return leave(cap_refusal(change.thread, set.error()));
    steered.lines.push_back(fmt::format("{}: at most {:g} % of a core", text, 100 * *wanted.cap));
  }
  ++steered.changed;
  return true;
}

// Writes the state, or removes the file if no change is left.
Status keep(const State& state, const std::string& path) {
  if (!state.changes.empty()) return replace_file(path, state_text(state));
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  const int error = errno;
  return Error{error, fmt::format("cannot remove {}: {}", path, std::strerror(error))};
}

// The policy first: a thread of SCHED_DEADLINE cannot change its cores. Errors: ENXIO, the thread
// does not get back a core that is offline, which some kernels forget.
Status restore(const Roots& roots, const Change& change) {
  if (change.policy) {
    const Status set = set_policy(change.thread, *change.policy);
    if (!set) return set;
  }
  if (!change.cores) return {};
  const std::vector<int> offline = offline_of(roots, *change.cores);
  const Status set = set_cores(change.thread, *change.cores);
  if (!set && offline.empty()) return set;
  const Result<std::vector<int>> now = permitted_cores(roots, change.thread);
  for (const int core : offline) {
    if (now && std::find(now->begin(), now->end(), core) != now->end()) continue;
    return Error{ENXIO,
                 fmt::format("core {} is offline; bring it back and call --undo again", core)};
  }
  return set;
}

}  // namespace

std::vector<Servicing> servicing_threads(const Snapshot& snapshot, const Rules& rules,
                                         const std::map<unsigned, InterruptOwner>& owners,
                                         const std::vector<std::string>& parts) {
  std::vector<Servicing> list;
  for (const auto& [id, thread] : snapshot.threads) {
    auto place = place_of_thread(thread.stat, rules, owners);
    if (!place || place->kind == "kernel" || place->kind == "interrupts") continue;
    const bool wanted =
        parts.empty() || std::find(parts.begin(), parts.end(), place->part) != parts.end();
    if (wanted) list.push_back({thread.stat, std::move(*place)});
  }
  return list;
}

namespace {

// Restores the changed threads after a core went offline. The others are not touched: Linux 6.1
// would take an offline core from them.
Error give_up(const Roots& roots, const std::vector<int>& cores, const State& changed,
              const std::string& state_path) {
  if (Status kept = keep(changed, state_path); !kept) return kept.error();
  const Result<Steered> undone = undo(roots, state_path);
  const std::string what = fmt::format("none of the cores {} is online any more", list_of(cores));
  if (undone && undone->left == 0) {
    return {ENXIO, what + ": all threads are as they were; name cores that are online"};
  }
  return {ENXIO, what + "; 'k2k watch --undo' restores the threads that were changed"};
}

}  // namespace

Result<Steered> steer(const Roots& roots, const Wanted& wanted,
                      const std::vector<Servicing>& threads, const std::string& state_path) {
  const bool none = std::none_of(threads.begin(), threads.end(), [&](const Servicing& thread) {
    return may_change(roots, thread.stat.id);
  });
  if (!threads.empty() && (none || (wanted.cap && !may_cap(roots)))) {
    return Error{
        EPERM, fmt::format("only root, or a process with CAP_SYS_NICE, may {} the {} "
                           "threads that serve here, such as {}; call it with sudo. "
                           "Nothing is changed",
                           wanted.cap ? "cap" : "move", threads.size(), threads.front().stat.name)};
  }
  const Result<std::optional<State>> before = load_state(state_path);
  if (!before) return before.error();
  State state;
  state.boot = boot_of(roots);
  const bool stale = before.value() && before.value()->boot != state.boot;
  if (stale && ::unlink(state_path.c_str()) != 0) {
    return Error{errno, fmt::format("cannot remove {} of an earlier boot: {}", state_path,
                                    std::strerror(errno))};
  }
  Steered steered;
  for (const Servicing& thread : threads) {
    if (auto change = plan(roots, thread, wanted, steered))
      state.changes.push_back(std::move(*change));
  }
  if (state.changes.empty()) return steered;
  const Status written = create_file(state_path, state_text(state));
  if (!written && written.error().code == EEXIST) {
    return Error{EEXIST, fmt::format("{} has the changes of an earlier call; 'k2k watch --undo' "
                                     "restores them first",
                                     state_path)};
  }
  if (!written) return written.error();
  State done{state.boot, {}};
  bool lost = false;
  for (Change& change : state.changes) {
    if (lost) break;
    if (!lives(roots, change)) {
      steered.lines.push_back(thread_text(change.thread, change.name) + " has ended: skipped");
    } else if (apply(roots, change, wanted, steered, lost)) {
      done.changes.push_back(std::move(change));
    }
  }
  if (lost) return give_up(roots, *wanted.cores, done, state_path);
  const Status kept = keep(done, state_path);
  if (!kept) return kept.error();  // The longer file remains, and an undo still restores all.
  return steered;
}

Result<Steered> undo(const Roots& roots, const std::string& state_path) {
  Result<std::optional<State>> loaded = load_state(state_path);
  if (!loaded) return loaded.error();
  Steered steered;
  if (!loaded.value()) {
    steered.lines.push_back(fmt::format("nothing to undo: there is no {}", state_path));
    return steered;
  }
  const State state = std::move(*loaded.value());
  State refused{state.boot, {}};
  if (state.boot != boot_of(roots)) {
    steered.lines.push_back("the changes are of an earlier boot: nothing is left of them");
  } else {
    for (const Change& change : state.changes) {
      const std::string text = thread_text(change.thread, change.name);
      if (!lives(roots, change)) {
        steered.lines.push_back(text + " has ended: skipped");
        continue;
      }
      const Status restored = restore(roots, change);
      if (restored) {
        steered.lines.push_back(text + " is as it was");
        ++steered.changed;
        continue;
      }
      steered.lines.push_back(text + " is not restored: " + restored.error().message);
      ++steered.left;
      refused.changes.push_back(change);
    }
  }
  const Status kept = keep(refused, state_path);
  if (!kept) return kept.error();
  return steered;
}

}  // namespace k2k::watch
