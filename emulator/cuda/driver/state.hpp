#pragma once
// The state of the driver: one device, contexts, streams, modules, memory.
//
//   Driver     settings from the environment, the device, all handles that exist
//   Context    its streams and modules; a fault of a kernel makes it answer that fault for ever
//   Stream     a queue, worked off by a thread of its own
//
// A handle is the address of an object. Each call looks it up before it is used, so a handle after
// its destruction is an error of the caller, no access to freed memory.
//
// Threading: every function from any thread. Nothing is destroyed at the end of the process: other
// threads may still be in a call.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "emulator/cuda/driver/abi.hpp"
#include "emulator/cuda/driver/freed_pages.hpp"
#include "emulator/cuda/exec/check/races.hpp"
#include "emulator/cuda/exec/check/uninitialised.hpp"
#include "emulator/cuda/exec/device.hpp"
#include "emulator/cuda/exec/memory_map.hpp"
#include "emulator/cuda/exec/ops/program.hpp"

namespace k2k::emulator::driver {

struct Context;

// An event's moment, or the end of a task.
class Moment {
 public:
  void reach();
  void wait();
  [[nodiscard]] bool reached() const;
  [[nodiscard]] std::uint64_t at_ns() const;

  // The task that ends then, and what is before it; with a search for races alone. Set before
  // others know the moment.
  exec::check::TaskOrder order;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::uint64_t at_ns_ = 0;
};

class Stream {
 public:
  Stream(Context& context, unsigned flags, int priority);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Runs `work` after everything that was added before. The moment is reached behind it.
  std::shared_ptr<Moment> add(std::function<void()> work, exec::check::TaskOrder order);
  // The moment behind the last task.
  [[nodiscard]] std::shared_ptr<Moment> last() const;

  Context& context;
  const unsigned flags;  // 1: it does not wait for the legacy stream.
  const int priority;
  const std::uint32_t number;  // From 1, of all streams.
  std::uint64_t tasks = 0;     // That were added; under the context's mutex.

 private:
  struct Task {
    std::function<void()> work;
    std::shared_ptr<Moment> done;
  };
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::shared_ptr<Moment> last_;
  bool ends_ = false;
  std::thread thread_;
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  std::mutex mutex;
  std::shared_ptr<Moment> moment;  // nullptr: never recorded.
};

struct Module;
struct Function {
  Module* module = nullptr;
  const exec::Code* code = nullptr;
  std::atomic<int> dynamic_shared_max{static_cast<int>(exec::block_shared_bytes)};
};
struct Module {
  std::unique_ptr<exec::Program> program;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Allocation {
  enum class Kind : std::uint8_t { device, pinned, registered, managed };
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  Kind kind = Kind::device;
  Context* context = nullptr;
  std::uint64_t number = 0;
};

struct Context {
  unsigned flags = 0;
  bool primary = false;
  std::uint64_t number = 0;
  std::atomic<CUresult> fault{success};
  std::atomic<bool> alive{true};
  std::mutex mutex;  // Of the containers.
  std::unique_ptr<Stream> legacy;
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<Module*, std::unique_ptr<Module>> modules;
  std::set<std::shared_ptr<exec::Grid>> grids;  // That run.
};

class Driver {
 public:
  // The one of the process.
  static Driver& get();

  // not_initialized before cuInit and in a child of fork.
  [[nodiscard]] CUresult usable() const;
  CUresult initialise();

  // --- Contexts.
  CUresult retain_primary(Context** context);
  CUresult release_primary(bool at_once);
  [[nodiscard]] Context* primary();  // nullptr if it is not active.
  CUresult make_context(unsigned flags, Context** context);
  CUresult end_context(Context* context);
  [[nodiscard]] bool knows(const Context* context);
  // The calling thread's context, for a call that needs one: its fault, if it has one.
  CUresult current(Context** context);

  // --- Memory.
  CUresult allocate(Context* context, std::uint64_t bytes, Allocation::Kind kind,
                    std::uint64_t* address);
  CUresult add_registered(Context* context, std::uint64_t address, std::uint64_t bytes);
  CUresult release(std::uint64_t address, Allocation::Kind kind);
  // The allocation that holds the address; bytes are 0 if there is none.
  [[nodiscard]] Allocation holding(std::uint64_t address);
  [[nodiscard]] std::uint64_t bytes_free();
  // Everything that runs on the device has ended.
  void drain();
  // Who watches a launch that begins, or nullptr.
  [[nodiscard]] std::shared_ptr<exec::GridWatch> watch(const exec::Grid& grid,
                                                       const exec::check::PlacedTask& place);
  // The host saw that moment, and so the end of all before it.
  void host_knows(const exec::check::TaskOrder& order);

  void log(const std::string& sentence);
  void count_unsupported(const char* name);
  [[nodiscard]] std::uint64_t unsupported_calls() const { return unsupported_.load(); }

  exec::Device* device = nullptr;
  // What variables turn on; else nullptr and 0.
  std::unique_ptr<exec::check::Races> races;
  std::unique_ptr<exec::check::UninitialisedReads> uninitialised;
  exec::check::SharedTaskOrder host_order;  // What the host knows to have ended.
  std::uint64_t hold_seed = 0;              // Of held-back stores.
  exec::MemoryMap memory;
  std::uint64_t memory_bytes = 0;
  std::uint64_t launch_limit_ms = 0;
  bool reaches_host_pages = false;  // EMULATED_CUDA_PAGEABLE.
  std::atomic<std::uint64_t> launches{0};

 private:
  Driver();
  void empty(Context& context);
  // The memory of an allocation. Under memory_mutex_.
  void give_back(const Allocation& held);
  void turn_checks_on();

  std::atomic<bool> started_{false};
  std::mutex mutex_;
  Context* primary_ = nullptr;
  std::uint32_t primary_users_ = 0;
  std::map<const Context*, std::unique_ptr<Context>> contexts_;
  std::uint64_t contexts_made_ = 0;
  std::mutex memory_mutex_;
  std::map<std::uint64_t, Allocation> allocations_;
  FreedPages freed_;
  std::uint64_t allocated_ = 0;
  std::uint64_t allocations_made_ = 0;
  std::mutex log_mutex_;
  std::string log_path_;
  std::atomic<std::uint64_t> unsupported_{0};
  std::set<std::string> unsupported_names_;
};

// The stack of current contexts of a thread.
std::vector<Context*>& current_stack();

// nullptr for a handle of no function.
Function* function_of(Context& context, CUfunction handle);

// nullptr, 1 and 2 are the legacy stream (2, the one per thread, is not told apart from it).
CUresult stream_of(Context& context, CUstream handle, Stream** stream);
// Adds work with the order between the legacy stream and the others.
// behind: a moment that the work itself waits for, or nullptr.
using PlacedWork = std::function<void(const exec::check::PlacedTask&)>;
std::shared_ptr<Moment> add_in_order(Stream& stream, PlacedWork work,
                                     const std::shared_ptr<Moment>& behind = nullptr);
// Waits, and answers the context's fault.
CUresult finish(Context& context, const std::shared_ptr<Moment>& moment);

template <class Handle, class Object>
Handle handle_of(Object* object) {
  return reinterpret_cast<Handle>(object);
}
template <class Object, class Handle>
Object* object_of(Handle handle) {
  return reinterpret_cast<Object*>(handle);
}

}  // namespace k2k::emulator::driver
