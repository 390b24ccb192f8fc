#pragma once
// The functions that the host program provides, and the calls of them.
//
//   add() ─▶ found by calls ─▶ remove(): found no more, returns once no call runs
//
// A call finds its function without a lock: a table of entries that are never freed. An entry
// counts its users, and a service thread that calls in place shows its entry instead, by a plain
// store (base/asymmetric_barrier.hpp). remove() waits until there is no user, and only then is the
// entry used again.
//
// Threading: all members from anywhere. No lock is held while a function runs.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "backend/backend.hpp"
#include "base/asymmetric_barrier.hpp"
#include "base/result.hpp"
#include "calls/host_call.hpp"
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

  // The memory that calls may name. Before the first call.
  void confine(CallerMemory::Permits permits) { memory_.confine(std::move(permits)); }

  // Does the calling thread run a function of this object?
  [[nodiscard]] bool runs_here() const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> id{0};  // 0: never used.
    std::atomic<std::uint32_t> users{0};
    std::atomic<std::uint32_t> live{0};  // 1: found by calls.
    std::atomic<bool> mismatch_told{false};
    bool leaving = false;  // remove() waits for its users. Under changing_.
    // Written while !live, !leaving and without users.
    HostFunction function;
    HostSignature signature;
    bool is_quick = false;  // It never blocks, and its calls need no frame.
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

  // The entry that a service thread calls in place.
  struct alignas(64) Reader {
    std::atomic<const Entry*> entry{nullptr};
  };
  static constexpr std::size_t readers_max = 512;

  // The live entry with this id, or nullptr. It may be withdrawn at any moment.
  Entry* find(std::uint64_t id);
  [[nodiscard]] bool is_used(const Entry& entry) const;
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

  CallerMemory memory_;
  Printer printer_;
  std::array<Entry, host_functions_max> entries_;
  std::array<Reader, readers_max> readers_;  // By the index of the service thread.
  std::mutex changing_;                      // Entries are added and taken out under it.
};

class HostFunctions::InSlot {
 public:
  // `words` of a slot, copied; they outlive this. `thread`: the index of the calling service
  // thread, which has one such object at a time.
  InSlot(HostFunctions& functions, const std::uint64_t* words, std::size_t thread);
  ~InSlot();
  InSlot(const InSlot&) = delete;
  InSlot& operator=(const InSlot&) = delete;
  // False: there is no such call here. It is one for attempt().
  explicit operator bool() const { return entry_ != nullptr; }
  // The answer's value.
  [[nodiscard]] std::int64_t call() const;

 private:
  HostFunctions& functions_;
  const std::uint64_t* words_;
  Reader* reader_ = nullptr;
  const Entry* entry_ = nullptr;
};

inline HostFunctions::Entry* HostFunctions::find(std::uint64_t id) {
  for (std::size_t step = 0; step < host_functions_max; ++step) {
    Entry& entry = entries_[(id + step) % host_functions_max];
    const std::uint64_t seen = entry.id.load(std::memory_order_acquire);
    if (seen == 0) return nullptr;
    // An entry may have this id and be withdrawn, and a later one be live.
    if (seen == id && entry.live.load(std::memory_order_relaxed) != 0) return &entry;
  }
  return nullptr;
}

inline HostFunctions::InSlot::InSlot(HostFunctions& functions, const std::uint64_t* words,
                                     std::size_t thread)
    : functions_(functions), words_(words) {
  const std::uint64_t id = words[calls::host_id_word];
  Entry* const entry = functions.find(id);
  if (entry == nullptr || thread >= readers_max) return;
  reader_ = &functions.readers_[thread];
  reader_->entry.store(entry, std::memory_order_relaxed);
  // Once it is found live behind the barrier, remove() waits for this reader. The acquires pair
  // with add().
  if (light_barrier_then_load(entry->live) == 0 ||
      entry->live.load(std::memory_order_acquire) == 0 ||
      entry->id.load(std::memory_order_acquire) != id || !entry->is_quick ||
      words[calls::host_signature_word] != entry->signature.id ||
      words[calls::host_shape_word] != 0) {
    return;
  }
  entry_ = entry;
}

inline HostFunctions::InSlot::~InSlot() {
  // Pairs with remove(): it writes the entry after this.
  if (reader_ != nullptr) reader_->entry.store(nullptr, std::memory_order_release);
}

}  // namespace k2k::services
