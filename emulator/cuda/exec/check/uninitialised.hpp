#pragma once
// Reads of shared memory that no lane of the block wrote. A block begins with a pattern in its
// shared memory, because a GPU leaves what the last block had there.
//
// Atomic loads and compare-and-swap may look at such memory: a flag with a tag of its own is
// claimed so. All other reads are reported, an instruction once.
//
// Threading: UninitialisedReads from any thread; its watches as exec/watch.hpp says.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "emulator/cuda/exec/block.hpp"
#include "emulator/cuda/exec/watch.hpp"

namespace k2k::emulator::exec::check {

inline constexpr unsigned char shared_pattern = 0xcd;

class UninitialisedReads {
 public:
  using Say = std::function<void(const std::string&)>;
  explicit UninitialisedReads(Say say) : say_(std::move(say)) {}

  // `then` executes the accesses; nullptr: nobody else watches.
  std::shared_ptr<GridWatch> begin(std::shared_ptr<GridWatch> then);
  // Instructions that were reported.
  [[nodiscard]] std::uint64_t count() const { return count_.load(); }
  // `offset`: in shared memory.
  void report(const Lane& lane, const Op& op, std::uint64_t offset);

 private:
  const Say say_;
  std::mutex mutex_;
  std::set<std::uint32_t> reported_;  // Places.
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace k2k::emulator::exec::check
