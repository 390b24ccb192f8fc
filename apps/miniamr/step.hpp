#pragma once
// The kernel of miniAMR: one work-group makes all steps of a launch. Between two steps it refines
// and coarsens, reads its process's resident memory by its own system calls (/proc/self/statm), and
// above the watermark returns the memory of blocks that nobody needs by madvise(MADV_DONTNEED).
//
//   change roots ─▶ pread(statm) ─▶ madvise of dead blocks, async ─▶ stencil ─▶ redeem ─▶ next step
//
// The advice is served while the stencil works on living blocks. It is async and not detached: a
// block that is used again must not meet an advice on its way, and only a ticket tells that it has
// arrived.
//
// `How` makes the calls: Wrapped by K2K, or direct.hpp's by libc.
//
// Threading: device code; every item of the group calls make_steps().

#include "apps/miniamr/mesh.hpp"
#include "device/k2k.hpp"

namespace k2k::miniamr {

struct Job {
  Mesh mesh;
  std::uint32_t steps = 0;
  std::uint32_t period = 2;       // Steps of the sphere to and fro.
  std::uint64_t watermark = 0;    // Bytes; 0: nothing is returned.
  const char* statm = nullptr;    // "/proc/self/statm", where the kernel can read it.
  std::uint8_t* dirty = nullptr;  // Two bytes a root: its coarse block, its fine blocks may have
                                  // pages of memory.
  std::uint64_t* resident = nullptr;  // Bytes, after the changes of each step.
  std::uint64_t* returned = nullptr;  // [0]: bytes that were advised. [1]: calls of madvise that
                                      // failed. [2]: the errno of a statm that could not be read.
};

inline constexpr std::uint32_t tickets_most = 4;  // Of an item at a time; the rest waits a step.
inline constexpr int dont_need = 4;               // MADV_DONTNEED

struct Shared {
  std::uint32_t returns;  // 1: above the watermark.
};

struct Wrapped {
  K2K_DEVICE static long open(const char* path) { return k2k::open(k2k::work_item, path, 0); }
  K2K_DEVICE static long pread(int file, void* buffer, std::size_t bytes) {
    return k2k::pread(k2k::work_item, file, buffer, bytes, 0);
  }
  K2K_DEVICE static auto advise(void* address, std::size_t bytes) {
    return k2k::madvise(k2k::work_item, k2k::async, address, bytes, dont_need);
  }
  K2K_DEVICE static void close(int file) { static_cast<void>(k2k::close(k2k::work_item, file)); }
};

// The second number of statm in bytes, or a negative errno.
template <class How>
K2K_DEVICE inline std::int64_t resident_bytes(int statm) {
  char text[128];
  const long bytes = How::pread(statm, text, sizeof(text));
  if (bytes < 0) return bytes;
  std::int64_t pages = 0;
  long at = 0;
  while (at < bytes && text[at] != ' ') ++at;
  for (++at; at < bytes && text[at] >= '0' && text[at] <= '9'; ++at) {
    pages = pages * 10 + (text[at] - '0');
  }
  return pages * 4096;
}

K2K_DEVICE inline void change_roots(const Job& job, std::uint32_t step) {
  const Mesh& mesh = job.mesh;
  for (std::uint32_t root = k2k::item_rank(); root < mesh.roots(); root += k2k::group_size()) {
    const bool fine = wants_fine(mesh.roots_a_side, root, step, job.period);
    if (step == 0) {
      const Cell corner = corner_of_root(mesh, root, 0);
      for (std::uint32_t number = 0; number < block_cells; ++number) {
        const Cell cell = cell_of_root(corner, 0, number);
        mesh.at(root, 0, cell, 0) = first_value(cell);
      }
      job.dirty[2 * root] = 1;
    }
    if (fine == (mesh.fine[root] != 0)) continue;
    change_root(mesh, root, fine, step & 1);
    job.dirty[2 * root + (fine ? 1 : 0)] = 1;
  }
}

K2K_DEVICE inline void move_values(const Job& job, std::uint32_t step) {
  const Mesh& mesh = job.mesh;
  for (std::uint32_t root = 0; root < mesh.roots(); ++root) {
    const std::uint32_t level = mesh.fine[root];
    const Cell corner = corner_of_root(mesh, root, level);
    for (std::uint32_t number = k2k::item_rank(); number < cells_of_root(level);
         number += k2k::group_size()) {
      const Cell cell = cell_of_root(corner, level, number);
      mesh.at(root, level, cell, ~step & 1) = stencil(mesh, root, level, cell, step);
    }
  }
}

// Advises the dead blocks of this item's roots, works on the living ones, and waits for the advice.
template <class How>
K2K_DEVICE inline void step_and_return(const Job& job, std::uint32_t step) {
  const Mesh& mesh = job.mesh;
  decltype(How::advise(nullptr, 0)) tickets[tickets_most];
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t root = k2k::item_rank(); root < mesh.roots() && count < tickets_most;
       root += k2k::group_size()) {
    const bool coarse_is_dead = mesh.fine[root] != 0;
    std::uint8_t& dirty = job.dirty[2 * root + (coarse_is_dead ? 0 : 1)];
    if (dirty == 0) continue;
    dirty = 0;
    const std::size_t length = coarse_is_dead ? block_bytes : fine_blocks * block_bytes;
    tickets[count++] = How::advise(mesh.block(root, coarse_is_dead ? 0 : 1), length);
    bytes += length;
  }
  move_values(job, step);
  std::uint64_t failed = 0;
  for (std::uint32_t at = 0; at < count; ++at) {
    const long answer = tickets[at].redeem();
    failed += answer != 0 ? 1 : 0;
  }
  if (bytes != 0) k2k::AtomicRef(job.returned[0]).fetch_add(bytes);
  if (failed != 0) k2k::AtomicRef(job.returned[1]).fetch_add(failed);
}

template <class How>
K2K_DEVICE inline void make_steps(const Job& job) {
  K2K_LOCAL(Shared, shared);
  const bool first = k2k::item_rank() == 0;
  long statm = -1;
  if (first) {
    statm = How::open(job.statm);
    if (statm < 0) job.returned[2] = static_cast<std::uint64_t>(-statm);
  }
  for (std::uint32_t step = 0; step < job.steps; ++step) {
    change_roots(job, step);
    k2k::barrier();
    if (first) {
      const std::int64_t resident = statm < 0 ? 0 : resident_bytes<How>(static_cast<int>(statm));
      if (resident < 0) job.returned[2] = static_cast<std::uint64_t>(-resident);
      job.resident[step] = resident < 0 ? 0 : static_cast<std::uint64_t>(resident);
      shared.returns = job.watermark != 0 && job.resident[step] > job.watermark ? 1 : 0;
    }
    k2k::barrier();
    if (shared.returns != 0) {
      step_and_return<How>(job, step);
    } else {
      move_values(job, step);
    }
    k2k::barrier();
  }
  if (first && statm >= 0) How::close(static_cast<int>(statm));
}

}  // namespace k2k::miniamr
