#pragma once
// Device code of `pages`: a work-item touches a few pages, queries their nodes by move_pages(2),
// moves them to the given nodes, queries again, and reads their content. C++17, any device.

#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"

namespace k2k::labs::generators {

inline constexpr std::uint32_t pages_a_call = 16;

// The arguments of one call, in memory that the host reads in place: the call has no row in the
// table of calls, so no buffer is copied.
struct PageBatch {
  const void* pages[pages_a_call];
  std::int32_t targets[pages_a_call];  // The node to move each page to.
  std::int32_t before[pages_a_call];   // Its node, or a negative errno.
  std::int32_t after[pages_a_call];
  std::int64_t answers[3];  // Of the query, the move and the second query.
};

struct PagesKernel {
  static constexpr long move_pages = 279;      // On x86-64, as K2K numbers calls everywhere.
  static constexpr std::int32_t move_own = 2;  // MPOL_MF_MOVE: only pages of this process.

  PageBatch* batches;
  std::uint64_t* sums;  // [page]
  std::uint32_t count;
  bool moves;

  K2K_DEVICE void operator()() const {
    for (std::uint64_t batch = k2k::global_rank(); batch < count; batch += k2k::global_size()) {
      serve(batches[batch], sums + batch * pages_a_call);
    }
  }

 private:
  K2K_DEVICE void serve(PageBatch& batch, std::uint64_t* sum) const {
    for (std::uint32_t page = 0; page < pages_a_call; ++page) {
      sum[page] = *static_cast<const std::uint64_t*>(batch.pages[page]);  // A fault.
    }
    const void* const no_targets = nullptr;
    batch.answers[0] = call(batch, no_targets, batch.before, 0);
    if (moves) batch.answers[1] = call(batch, batch.targets, batch.after, move_own);
    batch.answers[2] = call(batch, no_targets, batch.after, 0);
    for (std::uint32_t page = 0; page < pages_a_call; ++page) {
      sum[page] = sum_of(batch.pages[page]);
    }
  }
  K2K_DEVICE static long call(PageBatch& batch, const void* targets,
                              std::int32_t (&states)[pages_a_call], std::int32_t flags) {
    return k2k::syscall(k2k::work_item, k2k::halting, move_pages, 0, pages_a_call, &batch.pages[0],
                        targets, &states[0], flags);
  }
  K2K_DEVICE static std::uint64_t sum_of(const void* page) {
    const auto* const words = static_cast<const std::uint64_t*>(page);
    std::uint64_t sum = 0;
    for (std::size_t word = 0; word < 4096 / sizeof(*words); ++word) sum += words[word];
    return sum;
  }
};

}  // namespace k2k::labs::generators
