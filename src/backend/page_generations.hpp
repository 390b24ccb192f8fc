#pragma once
// Keeps stale pages out of a region while its pages are discarded (docs/design/page-faults.md,
// "Discarding").
//
// A fill reads its source, then places the page. A page that was read before a discard began, but
// is placed after Linux has removed the old pages, would be stale. So a discard begins a
// generation, and only a page of the present generation is placed:
//
//   fill                                       discard
//   generation = now()                         begin_next(): waits for placements of the previous
//   read the source                               generation
//   begin_placing(generation)                  madvise(2)
//     false: read again
//   place the page
//   end_placing(generation)
//
// Fills never wait for a discard. A discard waits for placements, which are one system call each.
//
// Threading: from anywhere; async-signal-safe, except begin_next().

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

namespace k2k::backend {

class PageGenerations {
 public:
  [[nodiscard]] std::uint64_t now() const noexcept {
    return generation_.load(std::memory_order_seq_cst);
  }

  // May a page be placed whose source was read in this generation? Every true needs end_placing().
  [[nodiscard]] bool begin_placing(std::uint64_t generation) noexcept {
    // Pairs with begin_next(): either it sees this placement, or the placement sees its generation.
    placing_[generation % 2].fetch_add(1, std::memory_order_seq_cst);
    if (generation_.load(std::memory_order_seq_cst) == generation) return true;
    end_placing(generation);
    return false;
  }
  // Releases the page; pairs with the load of begin_next().
  void end_placing(std::uint64_t generation) noexcept {
    placing_[generation % 2].fetch_sub(1, std::memory_order_seq_cst);
  }

  // Returns when no page of an earlier generation is being placed, nor will be.
  void begin_next() {
    // One at a time: a second one would count placements of its generation in the word that the
    // first one waits for.
    const std::lock_guard lock(beginning_);
    const std::uint64_t previous = generation_.fetch_add(1, std::memory_order_seq_cst);
    // Placements of the new generation are counted in the other word, so that a stream of them
    // cannot hold this loop up. Those of the generation before the previous one have ended.
    while (placing_[previous % 2].load(std::memory_order_seq_cst) != 0) {
      std::this_thread::sleep_for(look_again_after);
    }
  }

 private:
  static constexpr auto look_again_after = std::chrono::microseconds(5);

  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::uint32_t> placing_[2] = {};  // Placements by the parity of their generation.
  std::mutex beginning_;
};

// A placement, for as long as this object lives.
class Placing {
 public:
  // Of a page whose source was read in `generation`; converts to false if it is stale.
  Placing(PageGenerations& of, std::uint64_t generation) noexcept
      : of_(of), generation_(generation), allowed_(of.begin_placing(generation)) {}
  // Of a page whose source is read from here on.
  explicit Placing(PageGenerations& of) noexcept : of_(of) {
    do {
      generation_ = of.now();
    } while (!of.begin_placing(generation_));  // Each failure is another discard.
    allowed_ = true;
  }
  ~Placing() {
    if (allowed_) of_.end_placing(generation_);
  }
  Placing(const Placing&) = delete;
  Placing& operator=(const Placing&) = delete;

  explicit operator bool() const { return allowed_; }

 private:
  PageGenerations& of_;
  std::uint64_t generation_ = 0;
  bool allowed_ = false;
};

}  // namespace k2k::backend
