#pragma once
// Makes the tables of a lookup (lookup.hpp), and its answer by another method.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/xsbench/lookup.hpp"

namespace k2k::xsbench {

struct Tables {
  std::uint32_t nuclides = 0;
  std::uint32_t grid_points = 0;
  std::vector<Point> points;
  std::vector<double> energies;
  std::vector<std::uint32_t> indices;
  std::vector<Material> materials;
  std::vector<std::uint32_t> material_nuclides;
  std::vector<double> concentrations;

  [[nodiscard]] const Point* grid_of(std::uint32_t nuclide) const {
    return points.data() + std::size_t{nuclide} * grid_points;
  }
};

// Expects two nuclides and two points a nuclide at least.
Tables tables_of(std::uint32_t nuclides, std::uint32_t grid_points, std::uint64_t seed);

// Without the unionised grid: a binary search in each nuclide's own grid.
Answer search_each(const Tables& tables, const Sample& sample);

}  // namespace k2k::xsbench
