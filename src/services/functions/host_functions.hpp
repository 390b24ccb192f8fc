#pragma once
// The functions that the host program provides, and the calls of them.
//
//   add() ─▶ found by calls ─▶ remove(): found no more, returns once no call runs
//
// A call finds its function without a lock: a table of entries that are never freed. An entry
// counts its users; remove() waits until there is none, and only then is the entry used again.
//
// Threading: all members from anywhere. No lock is held while a function runs.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "backend/backend.hpp"
#include "base/result.hpp"
#include "services/functions/caller_memory.hpp"
#include "services/functions/host_function.hpp"
#include "services/functions/host_run.hpp"
#include "services/functions/host_signature.hpp"
#include "services/functions/printer.hpp"
#include "services/services.hpp"

namespace k2k::services {

// Provided at one time.
inline constexpr std::size_t host_functions_max = 256;

[[nodiscard]] bool is_host_call(const Request& request);

class HostFunctions {
 public:
  // `backend` outlives this, except for functions that run on after the server has ended.
  explicit HostFunctions(const backend::Backend& backend) : memory_(backend), printer_(memory_) {}
  HostFunctions(const HostFunctions&) = delete;
  HostFunctions& operator=(const HostFunctions&) = delete;

  // Errors: EINVAL (no name, a name beyond calls::host_name_bytes_max, the name of a function of
  // K2K, no body, a wrong signature), EEXIST (the name is taken, or has the id of another), ENOSPC,
  // EMSGSIZE (parse_host_signature()).
  Status add(HostFunction function);
  // Returns once no call of the function runs. Errors: ENOENT; EDEADLK from inside a host function.
  Status remove(const std::string& name);

  // A call whose function never blocks and whose arguments and reply fit its slot.
  class InSlot;

  // Runs the function if it never blocks, and answers would_wait if it may, or where its buffers
  // have to be copied.
  Answer attempt(const Request& request);
  // Runs the function on copies of its buffers. Throws nothing.
  std::int64_t run(const Request& request, Interruption interruption, router::Files& files,
                   HostRun& host_run);

  // Does the calling thread run a function of this object?
  [[nodiscard]] bool runs_here() const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> id{0};  // 0: never used.
    std::atomic<std::uint32_t> users{0};
    std::atomic<bool> live{false};
    std::atomic<bool> mismatch_told{false};
    bool leaving = false;  // remove() waits for its users. Under changing_.
    // Written while !live, !leaving and without users.
    HostFunction function;
    HostSignature signature;
  };
  // Counts as a user of an entry.
  class Use {
   public:
    Use(HostFunctions& functions, std::uint64_t id);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    [[nodiscard]] Entry* entry() const { return entry_; }

   private:
    Entry* entry_ = nullptr;
  };

  // `host_run` is null for a call in place.
  Answer call(Entry& entry, const Request& request, HostRun* host_run) const;
  std::int64_t call_in_slot(const Entry& entry, const std::uint64_t* words,
                            HostRun* host_run) const;
  [[nodiscard]] static bool matches(const Entry& entry, const std::uint64_t* words);
  // Says so in the log, once a function.
  static void tell_mismatch(Entry& entry);
  // Runs the body: 0, or the errno that it returns or throws.
  [[nodiscard]] std::int64_t invoke(const Entry& entry, const HostArguments& arguments) const;
  // Likewise, between the two calls of `host_run`. -ECANCELED: one of them said false.
  std::int64_t invoke(const Entry& entry, const HostArguments& arguments, HostRun* host_run) const;

  const CallerMemory memory_;
  Printer printer_;
  std::array<Entry, host_functions_max> entries_;
  std::mutex changing_;  // Entries are added and taken out under it.
};

class HostFunctions::InSlot {
 public:
  // `words` of a slot, copied; they outlive this.
  InSlot(HostFunctions& functions, const std::uint64_t* words);
  // False: there is no such call here. It is one for attempt().
  explicit operator bool() const { return is_one_; }
  // The answer's value.
  [[nodiscard]] std::int64_t call() const;

 private:
  HostFunctions& functions_;
  const std::uint64_t* words_;
  const Use use_;
  const bool is_one_;
};

}  // namespace k2k::services
