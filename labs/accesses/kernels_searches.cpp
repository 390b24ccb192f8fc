// The kernels of BPT and XSBench (apps/bpt, apps/xsbench), recorded.

#include "labs/accesses/recorder.hpp"
#include "labs/accesses/searches.hpp"

namespace k2k::labs::accesses {

Result<LaunchReport> launch_bpt(Runtime& runtime, const LaunchShape& shape,
                                const bpt::Search& kernel) {
  return recorded(true,
                  {{kernel.tree.nodes, kernel.tree.node_count * sizeof(bpt::Node)},
                   {kernel.wanted, kernel.lookups * sizeof(std::uint64_t)},
                   {kernel.found, kernel.lookups * sizeof(std::uint64_t)}},
                  [&] { return runtime.launch(shape, kernel, "bpt"); });
}

Result<LaunchReport> launch_xsbench(Runtime& runtime, const LaunchShape& shape,
                                    const xsbench::Lookup& kernel, std::uint64_t material_entries) {
  return recorded(true,
                  {{kernel.energies, kernel.energy_count * sizeof(double)},
                   {kernel.indices, kernel.energy_count * kernel.nuclides * sizeof(std::uint32_t)},
                   {kernel.points,
                    std::uint64_t{kernel.nuclides} * kernel.grid_points * sizeof(xsbench::Point)},
                   {kernel.material_nuclides, material_entries * sizeof(std::uint32_t)},
                   {kernel.concentrations, material_entries * sizeof(double)},
                   {kernel.answers, kernel.lookups * sizeof(xsbench::Answer)}},
                  [&] { return runtime.launch(shape, kernel, "xsbench"); });
}

}  // namespace k2k::labs::accesses
