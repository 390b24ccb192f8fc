#pragma once
// Device code of XSBench's lookup with a unionised energy grid: one binary search over all
// energies, then, for each nuclide of the material, a row of indices gives the nuclide's grid
// points around the energy. C++17, any device.

#include <cstddef>
#include <cstdint>

#include "device/k2k.hpp"
#include "labs/interference/generators/counter_random.hpp"

namespace k2k::labs::generators {

// Total, elastic, absorption, fission, and neutrons per fission.
inline constexpr std::uint32_t xs_channels = 5;

struct XsPoint {
  double energy;
  double xs[xs_channels];
};

// One material: a range of `nuclides` and `concentrations`.
struct XsMaterial {
  std::uint32_t begin;
  std::uint32_t end;
};
inline constexpr std::uint32_t xs_materials = 12;

struct XsAnswer {
  double sum;             // Of the five macroscopic cross-sections.
  std::uint32_t largest;  // The index of the largest.
};

// The sample of a lookup: counter-based random numbers, drawn as by a history-based transport code.
struct XsSample {
  double energy;
  std::uint32_t material;
};
K2K_HD inline XsSample xs_sample(std::uint64_t seed, std::uint64_t lookup) {
  // Cumulative per cent of lookups that hit each material: mostly fuel (0), cladding (3) and water
  // (4), rounded from the Hoogenboom-Martin reactor that XSBench takes.
  constexpr std::uint32_t until[xs_materials] = {14, 19, 46, 60, 75, 81, 88, 94, 95, 97, 99, 100};
  const std::uint32_t percent = below(100, draw(seed, 2 * lookup));
  std::uint32_t material = 0;
  while (until[material] <= percent) ++material;
  return {unit(draw(seed, 2 * lookup + 1)), material};
}

// Adds a nuclide's cross-sections at `energy`, interpolated linearly between two grid points.
K2K_HD inline void xs_add(const XsPoint& low, const XsPoint& high, double energy,
                          double concentration, double (&macroscopic)[xs_channels]) {
  const double part = (high.energy - energy) / (high.energy - low.energy);
  for (std::uint32_t channel = 0; channel < xs_channels; ++channel) {
    const double xs = high.xs[channel] - part * (high.xs[channel] - low.xs[channel]);
    macroscopic[channel] += concentration * xs;
  }
}

K2K_HD inline XsAnswer xs_answer(const double (&macroscopic)[xs_channels]) {
  XsAnswer answer{0, 0};
  for (std::uint32_t channel = 0; channel < xs_channels; ++channel) {
    answer.sum += macroscopic[channel];
    if (macroscopic[channel] > macroscopic[answer.largest]) answer.largest = channel;
  }
  return answer;
}

struct XsbenchKernel {
  const double* energies;  // Of all nuclides, ascending: the unionised grid.
  std::uint64_t energy_count;
  const std::uint32_t* indices;  // [energy][nuclide]: the nuclide's grid point at or below it.
  std::uint32_t nuclides;
  const XsPoint* points;  // [nuclide][grid point]
  std::uint32_t grid_points;
  const XsMaterial* materials;
  const std::uint32_t* material_nuclides;
  const double* concentrations;
  XsAnswer* answers;
  std::uint64_t lookups;
  std::uint64_t seed;

  K2K_DEVICE void operator()() const {
    for (std::uint64_t lookup = k2k::global_rank(); lookup < lookups;
         lookup += k2k::global_size()) {
      answers[lookup] = look_up(xs_sample(seed, lookup));
    }
  }

 private:
  K2K_DEVICE XsAnswer look_up(const XsSample& sample) const {
    const std::uint32_t* row = indices + place_of(sample.energy) * nuclides;
    const XsMaterial material = materials[sample.material];
    double macroscopic[xs_channels] = {};
    for (std::uint32_t entry = material.begin; entry < material.end; ++entry) {
      const std::uint32_t nuclide = material_nuclides[entry];
      const XsPoint* low = points + std::uint64_t{nuclide} * grid_points + row[nuclide];
      xs_add(low[0], low[1], sample.energy, concentrations[entry], macroscopic);
    }
    return xs_answer(macroscopic);
  }

  // The last energy at or below `energy`; the first if there is none.
  K2K_DEVICE std::uint64_t place_of(double energy) const {
    std::uint64_t low = 0;
    std::uint64_t high = energy_count;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (energies[middle] <= energy) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace k2k::labs::generators
