// What nvcc makes of clusters in cooperative_groups and <cuda/ptx>, against what the host expects.

#include <cooperative_groups.h>

#include <cstdint>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/ptx>

#include "emulator/cuda/tests/nvcc/parts.hpp"

namespace {

namespace groups = cooperative_groups;

constexpr unsigned threads = 64;
constexpr unsigned of_cluster = 4;

// Each block's words go to the next one, are added to there, and come back.
__device__ void exchange(unsigned* out) {
  __shared__ unsigned words[threads];
  const groups::cluster_group cluster = groups::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  words[threadIdx.x] = blockIdx.x * threads + threadIdx.x;
  cluster.sync();
  unsigned* const theirs = cluster.map_shared_rank(words, next);
  const unsigned read = theirs[threads - 1 - threadIdx.x];
  cluster.sync();
  atomicAdd(theirs + threadIdx.x, 1000u * cluster.query_shared_rank(theirs));
  cluster.sync();
  out[blockIdx.x * threads + threadIdx.x] = read + 100'000u * words[threadIdx.x];
}
__global__ void __cluster_dims__(of_cluster, 1, 1) exchange_fixed(unsigned* out) { exchange(out); }
__global__ void exchange_stated(unsigned* out) { exchange(out); }

// Each block sends four words, and waits for those that come.
__global__ void __cluster_dims__(of_cluster, 1, 1) send(unsigned* out) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(8) std::uint64_t bar;
  __shared__ alignas(16) std::int32_t words[4];
  const groups::cluster_group cluster = groups::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    const auto state = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster,
                                                      ptx::space_shared, &bar, sizeof words);
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    const int own = static_cast<int>(blockIdx.x) * 4;
    ptx::st_async(cluster.map_shared_rank(&words[0], next), {own, own + 1, own + 2, own + 3},
                  cluster.map_shared_rank(&bar, next));
    while (!ptx::mbarrier_try_wait(ptx::sem_acquire, ptx::scope_cluster, &bar, state)) {
    }
    for (unsigned at = 0; at < 4; ++at) out[blockIdx.x * 4 + at] = unsigned(words[at]);
  }
  cluster.sync();
}

bool is_exchanged(const char* name, unsigned blocks, parts::Managed<unsigned>& out) {
  if (!parts::finished()) return false;
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned first = block / of_cluster * of_cluster;
    const unsigned next = first + (block + 1) % of_cluster;
    for (unsigned thread = 0; thread < threads; ++thread) {
      const unsigned kept = block * threads + thread + 1000 * (block % of_cluster);
      const unsigned wanted = next * threads + threads - 1 - thread + 100'000 * kept;
      const unsigned got = out[block * threads + thread];
      if (got == wanted) continue;
      std::printf("%s, block %u, thread %u: %u, not %u\n", name, block, thread, got, wanted);
      return false;
    }
  }
  return true;
}

}  // namespace

bool parts::clusters() {
  constexpr unsigned blocks = 3 * of_cluster;
  Managed<unsigned> out(blocks * threads);
  exchange_fixed<<<blocks, threads>>>(out.data);
  if (!is_exchanged("the kernel's cluster", blocks, out)) return false;

  cudaMemset(out.data, 0, out.count * sizeof(unsigned));
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim = {of_cluster, 1, 1};
  config.attrs = &size;
  config.numAttrs = 1;
  if (cudaLaunchKernelEx(&config, exchange_stated, out.data) != cudaSuccess) {
    std::printf("a launch with clusters was refused\n");
    return false;
  }
  if (!is_exchanged("the launch's cluster", blocks, out)) return false;

  send<<<blocks, threads>>>(out.data);
  if (!finished()) return false;
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned from = block / of_cluster * of_cluster + (block + of_cluster - 1) % of_cluster;
    for (unsigned at = 0; at < 4; ++at) {
      if (out[block * 4 + at] == from * 4 + at) continue;
      std::printf("block %u got %u as word %u of block %u\n", block, out[block * 4 + at], at, from);
      return false;
    }
  }
  return true;
}
