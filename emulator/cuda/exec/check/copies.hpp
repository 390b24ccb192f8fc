#pragma once
// Copies and sets of memory by calls of the driver, for races with lanes: cuMemcpy…, cuMemset….
//
// An access of a lane and a call race if they touch a byte, one of them writes it, and nothing
// orders them: neither the streams (exec/check/tasks.hpp), nor a wait of the host, nor what the
// host and lanes of a running kernel told each other through memory (races.hpp). A lane's atomic
// access of scope .sys is let be: kernels poll words that a call sets.
//
// A call is known from its beginning until the host has waited for it and for some calls more.
//
// Threading: from any thread.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "emulator/cuda/exec/check/clock.hpp"
#include "emulator/cuda/exec/check/shadow.hpp"
#include "emulator/cuda/exec/check/tasks.hpp"

namespace k2k::emulator::exec::check {

inline constexpr std::size_t copies_max = 4096;  // Beyond, the oldest is forgotten.
// Of those that the host waited for, while no kernel runs: launches that were given to a stream
// before it waited may still come.
inline constexpr std::size_t ended_copies_max = 32;

struct Copy {
  const char* call = "";  // "cuMemcpyHtoDAsync_v2"
  bool writes = false;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  PlacedTask place;
  Clock told;               // What lanes had told the host when it made the call.
  std::uint64_t ended = 0;  // The number of the end that the host knows; 0: it does not.

  // Without "_v2".
  [[nodiscard]] std::string call_name() const;
  // "byte 128 of the 1024 that cuMemcpyAsync writes"
  [[nodiscard]] std::string text(std::uint64_t address) const;
};

class Copies {
 public:
  void add(Copy copy);
  // The host knows that everything in `order` has ended, as number `ended`.
  void end(const TaskOrder& order, std::uint64_t ended);
  // The memory was given back.
  void forget(std::uint64_t begin, std::uint64_t end);
  // No kernel runs. Keeps the latest of those that have ended.
  void forget_ended();

  // The first copy that has no order with the access of a lane to [address, address + access.size),
  // whose host told it of calls that ended up to `known`. False: there is none.
  bool unordered(const Footprint& access, std::uint64_t address, const TaskOrder& before,
                 std::uint64_t known, Copy& found) const;

 private:
  std::atomic<std::size_t> count_{0};
  mutable std::shared_mutex mutex_;
  std::vector<Copy> all_;  // In the order of their beginning.
};

}  // namespace k2k::emulator::exec::check
