// XSBench of HISS, section III (Tramm et al., PHYSOR'14): the lookup of macroscopic cross-sections,
// which takes most of the time of Monte Carlo transport. The grids are large and read at random.

#include <algorithm>
#include <numeric>

#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/xsbench_kernel.hpp"

namespace k2k::labs::generators {

namespace {

// The host's copy of every table.
struct Tables {
  std::uint32_t nuclides = 0;
  std::uint32_t grid_points = 0;
  std::vector<XsPoint> points;
  std::vector<double> energies;
  std::vector<std::uint32_t> indices;
  std::vector<XsMaterial> materials;
  std::vector<std::uint32_t> material_nuclides;
  std::vector<double> concentrations;

  [[nodiscard]] const XsPoint* grid_of(std::uint32_t nuclide) const {
    return points.data() + std::size_t{nuclide} * grid_points;
  }
};

void draw_grids(Tables& tables, std::uint64_t seed) {
  std::uint64_t next = 0;
  tables.points.resize(std::size_t{tables.nuclides} * tables.grid_points);
  for (std::uint32_t nuclide = 0; nuclide < tables.nuclides; ++nuclide) {
    std::vector<double> energies(tables.grid_points);
    for (double& energy : energies) energy = unit(draw(seed, next++));
    std::sort(energies.begin(), energies.end());
    for (std::uint32_t point = 0; point < tables.grid_points; ++point) {
      XsPoint& one = tables.points[std::size_t{nuclide} * tables.grid_points + point];
      one.energy = energies[point];
      for (double& xs : one.xs) xs = unit(draw(seed, next++));
    }
  }
}

// Merges all energies into one grid, with each nuclide's grid point at each energy.
void unionise(Tables& tables) {
  for (const XsPoint& point : tables.points) tables.energies.push_back(point.energy);
  std::sort(tables.energies.begin(), tables.energies.end());
  std::vector<std::uint32_t> standing(tables.nuclides, 0);
  tables.indices.reserve(tables.energies.size() * tables.nuclides);
  for (const double energy : tables.energies) {
    for (std::uint32_t nuclide = 0; nuclide < tables.nuclides; ++nuclide) {
      const XsPoint* const grid = tables.grid_of(nuclide);
      std::uint32_t& place = standing[nuclide];
      while (place + 2 < tables.grid_points && grid[place + 1].energy <= energy) ++place;
      tables.indices.push_back(place);
    }
  }
}

// Fuel (0) contains half of all nuclides, the other materials 4 to 12.
void draw_materials(Tables& tables, std::uint64_t seed) {
  std::uint64_t next = 0;
  for (std::uint32_t material = 0; material < xs_materials; ++material) {
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

// The same lookup without the unionised grid: a binary search in each nuclide's own grid.
XsAnswer search_each(const Tables& tables, const XsSample& sample) {
  double macroscopic[xs_channels] = {};
  const XsMaterial material = tables.materials[sample.material];
  for (std::uint32_t entry = material.begin; entry < material.end; ++entry) {
    const XsPoint* const grid = tables.grid_of(tables.material_nuclides[entry]);
    const XsPoint* const above =
        std::upper_bound(grid + 1, grid + tables.grid_points - 1, sample.energy,
                         [](double energy, const XsPoint& point) { return energy < point.energy; });
    xs_add(above[-1], above[0], sample.energy, tables.concentrations[entry], macroscopic);
  }
  return xs_answer(macroscopic);
}

std::vector<double> listed(const std::vector<XsAnswer>& answers) {
  std::vector<double> list;
  for (const XsAnswer& answer : answers) {
    list.push_back(answer.sum);
    list.push_back(answer.largest);
  }
  return list;
}

class Xsbench : public Workload {
 public:
  Xsbench(Tables tables, std::uint64_t lookups, std::uint64_t seed)
      : tables_(std::move(tables)), answers_(lookups), seed_(seed) {}

  Status prepare(Runtime& runtime) {
    auto points = Input<XsPoint>::create(runtime, tables_.points, "xs grids");
    if (!points) return points.error();
    auto energies = Input<double>::create(runtime, std::move(tables_.energies), "xs energies");
    if (!energies) return energies.error();
    auto indices = Input<std::uint32_t>::create(runtime, std::move(tables_.indices), "xs indices");
    if (!indices) return indices.error();
    inputs_ = std::make_unique<Inputs>(
        Inputs{std::move(points.value()), std::move(energies.value()), std::move(indices.value())});
    return {};
  }

  Status run(Runtime& runtime) override {
    const XsbenchKernel kernel{.energies = inputs_->energies.data(),
                               .energy_count = inputs_->energies.size(),
                               .indices = inputs_->indices.data(),
                               .nuclides = tables_.nuclides,
                               .points = inputs_->points.data(),
                               .grid_points = tables_.grid_points,
                               .materials = tables_.materials.data(),
                               .material_nuclides = tables_.material_nuclides.data(),
                               .concentrations = tables_.concentrations.data(),
                               .answers = answers_.data(),
                               .lookups = answers_.size(),
                               .seed = seed_};
    const auto report = runtime.launch(shape_on(runtime), kernel, "xsbench");
    return report ? Status{} : report.error();
  }

  std::vector<double> answers() override { return listed(answers_); }
  std::vector<double> reference() override {
    std::vector<XsAnswer> answers;
    for (std::uint64_t lookup = 0; lookup < answers_.size(); ++lookup) {
      answers.push_back(search_each(tables_, xs_sample(seed_, lookup)));
    }
    return listed(answers);
  }
  // A compiler may fuse a multiplication and an addition on one side and not on the other.
  [[nodiscard]] double tolerance() const override { return 1e-12; }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {inputs_->points.region(), inputs_->energies.region(), inputs_->indices.region()};
  }

 private:
  struct Inputs {
    Input<XsPoint> points;
    Input<double> energies;
    Input<std::uint32_t> indices;
  };

  Tables tables_;
  std::vector<XsAnswer> answers_;
  std::uint64_t seed_;
  std::unique_ptr<Inputs> inputs_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_xsbench(Runtime& runtime, const Settings& settings) {
  Tables tables;
  tables.nuclides = settings.by_scale<std::uint32_t>(16, 68, 68);
  tables.grid_points = settings.by_scale<std::uint32_t>(64, 512, 2'048);
  draw_grids(tables, settings.seed);
  draw_materials(tables, settings.seed + 1);
  unionise(tables);
  const auto lookups = settings.by_scale<std::uint64_t>(1'000, 30'000, 200'000);
  auto workload = std::make_unique<Xsbench>(std::move(tables), lookups, settings.seed + 2);
  if (Status status = workload->prepare(runtime); !status) return status.error();
  return Result<std::unique_ptr<Workload>>(std::move(workload));
}

}  // namespace k2k::labs::generators
