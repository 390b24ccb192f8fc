#include "apps/xsbench/tables.hpp"

#include <algorithm>

namespace k2k::xsbench {

namespace {

using apps::below;
using apps::draw;
using apps::unit;

void draw_grids(Tables& tables, std::uint64_t seed) {
  std::uint64_t next = 0;
  tables.points.resize(std::size_t{tables.nuclides} * tables.grid_points);
  for (std::uint32_t nuclide = 0; nuclide < tables.nuclides; ++nuclide) {
    std::vector<double> energies(tables.grid_points);
    for (double& energy : energies) energy = unit(draw(seed, next++));
    std::sort(energies.begin(), energies.end());
    for (std::uint32_t point = 0; point < tables.grid_points; ++point) {
      Point& one = tables.points[std::size_t{nuclide} * tables.grid_points + point];
      one.energy = energies[point];
      for (double& xs : one.xs) xs = unit(draw(seed, next++));
    }
  }
}

// Merges all energies into one grid, with each nuclide's grid point at each energy.
void unionise(Tables& tables) {
  for (const Point& point : tables.points) tables.energies.push_back(point.energy);
  std::sort(tables.energies.begin(), tables.energies.end());
  std::vector<std::uint32_t> standing(tables.nuclides, 0);
  tables.indices.reserve(tables.energies.size() * tables.nuclides);
  for (const double energy : tables.energies) {
    for (std::uint32_t nuclide = 0; nuclide < tables.nuclides; ++nuclide) {
      const Point* const grid = tables.grid_of(nuclide);
      std::uint32_t& place = standing[nuclide];
      while (place + 2 < tables.grid_points && grid[place + 1].energy <= energy) ++place;
      tables.indices.push_back(place);
    }
  }
}

// Fuel (0) contains half of all nuclides, the other materials 4 to 12.
void draw_materials(Tables& tables, std::uint64_t seed) {
  std::uint64_t next = 0;
  for (std::uint32_t material = 0; material < material_count; ++material) {
    const std::uint32_t count = std::min(
        tables.nuclides, material == 0 ? tables.nuclides / 2 : 4 + below(9, draw(seed, next++)));
    const auto begin = static_cast<std::uint32_t>(tables.material_nuclides.size());
    const std::uint32_t first = below(tables.nuclides, draw(seed, next++));
    for (std::uint32_t entry = 0; entry < count; ++entry) {
      tables.material_nuclides.push_back((first + entry) % tables.nuclides);
      tables.concentrations.push_back(unit(draw(seed, next++)));
    }
    tables.materials.push_back({begin, begin + count});
  }
}

}  // namespace

Tables tables_of(std::uint32_t nuclides, std::uint32_t grid_points, std::uint64_t seed) {
  Tables tables;
  tables.nuclides = nuclides;
  tables.grid_points = grid_points;
  draw_grids(tables, seed);
  draw_materials(tables, seed + 1);
  unionise(tables);
  return tables;
}

Answer search_each(const Tables& tables, const Sample& sample) {
  double macroscopic[channel_count] = {};
  const Material material = tables.materials[sample.material];
  for (std::uint32_t entry = material.begin; entry < material.end; ++entry) {
    const Point* const grid = tables.grid_of(tables.material_nuclides[entry]);
    const Point* const above =
        std::upper_bound(grid + 1, grid + tables.grid_points - 1, sample.energy,
                         [](double energy, const Point& point) { return energy < point.energy; });
    add_nuclide(above[-1], above[0], sample.energy, tables.concentrations[entry], macroscopic);
  }
  return answer_of(macroscopic);
}

}  // namespace k2k::xsbench
