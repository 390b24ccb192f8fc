#include "backend/cpu/simt/attention.hpp"

#include "backend/futex.hpp"
#include "base/asymmetric_barrier.hpp"

namespace k2k::backend::cpu {

Attention::Attention(std::uint32_t first_row, std::uint32_t rows)
    : first_row_(first_row),
      pages_((rows + std::size_t{63}) / 64 * sizeof(std::uint64_t)),
      rows_(pages_.as<std::atomic<std::uint64_t>>()) {}

bool Attention::resume_row(std::uint32_t row) noexcept {
  const std::uint32_t seen = light_barrier_then_load(word_);
  if (seen == 0) return false;
  if ((seen & halting) != 0) {
    const std::uint32_t mine = row - first_row_;
    rows_[mine / 64].fetch_or(std::uint64_t{1} << mine % 64, std::memory_order_release);
    posted_.store(1, std::memory_order_seq_cst);  // Pairs with take_posted().
  }
  if ((seen & sleeping) != 0) wake();
  return seen >= one_foreign;
}

void Attention::resume_foreign() noexcept {
  foreign_.store(1, std::memory_order_release);
  posted_.store(1, std::memory_order_seq_cst);
  wake();
}

void Attention::wake() noexcept {
  // The halted lanes were posted before, or `stop` was set: a unit about to sleep sees it.
  if ((word_.fetch_and(~sleeping, std::memory_order_seq_cst) & sleeping) == 0) return;
  futex_wake_all(word_);
}

void Attention::foreigner_comes() noexcept {
  word_.fetch_add(one_foreign, std::memory_order_seq_cst);
}
void Attention::foreigner_goes() noexcept {
  word_.fetch_sub(one_foreign, std::memory_order_seq_cst);
}

void Attention::begin_launch() { word_.fetch_and(~halting, std::memory_order_seq_cst); }

void Attention::announce_halting() {
  word_.fetch_or(halting, std::memory_order_seq_cst);
  heavy_barrier();
}

void Attention::begin_sleep() {
  word_.fetch_or(sleeping, std::memory_order_seq_cst);
  heavy_barrier();
}

void Attention::sleep(Nanoseconds longest) {
  const std::uint32_t seen = word_.load(std::memory_order_relaxed);
  if ((seen & sleeping) != 0) futex_wait(word_, seen, longest);
}

void Attention::end_sleep() { word_.fetch_and(~sleeping, std::memory_order_seq_cst); }

}  // namespace k2k::backend::cpu
