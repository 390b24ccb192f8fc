#include <algorithm>

#include "labs/interference/generators/generator.hpp"

namespace k2k::labs::generators {

const std::vector<Generator>& all_generators() {
  static const std::vector<Generator> all = {
      {"ubench", "page faults", "streams through an array, a request an access", make_ubench},
      {"bpt", "page faults", "looks keys up in a B+tree whose nodes are pages", make_bpt},
      {"xsbench", "page faults", "looks macroscopic cross-sections up", make_xsbench},
      {"bfs", "page faults", "searches a Kronecker graph level by level", make_bfs},
      {"spmv", "page faults", "multiplies a sparse matrix by a vector", make_spmv},
      {"sssp", "page faults", "finds shortest paths with a worklist", make_sssp},
      {"heap", "memory allocation", "allocates and frees through mmap and munmap", make_heap},
      {"pages", "page migration", "asks for the node of pages and moves them", make_pages},
      {"signals", "signals", "queues a signal for each result", make_signals},
      {"files", "file system", "opens, writes, reads back and closes files", make_files},
  };
  return all;
}

LaunchShape shape_on(const Runtime& runtime) {
  return {.groups = groups_usual,
          .group_items = std::min(group_items_most, runtime.device().group_items_max)};
}

}  // namespace k2k::labs::generators
