// XSBench of HISS, section III (Tramm et al., PHYSOR'14): the lookup of macroscopic cross-sections,
// which takes most of the time of Monte Carlo transport. The grids are large and read at random.

#include "apps/xsbench/tables.hpp"
#include "labs/interference/generators/generator.hpp"
#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/kernels.hpp"
#include "labs/interference/generators/output.hpp"

namespace k2k::labs::generators {

namespace {

template <class Answers>
std::vector<double> listed(const Answers& answers) {
  std::vector<double> list;
  for (const xsbench::Answer& answer : answers) {
    list.push_back(answer.sum);
    list.push_back(answer.largest);
  }
  return list;
}

class Xsbench : public Workload {
 public:
  Xsbench(xsbench::Tables tables, std::uint64_t lookups, std::uint64_t seed)
      : tables_(std::move(tables)), lookups_(lookups), seed_(seed) {}

  Status prepare(Runtime& runtime) {
    auto points = Input<xsbench::Point>::create(runtime, tables_.points, "xs grids");
    if (!points) return points.error();
    auto energies = Input<double>::create(runtime, std::move(tables_.energies), "xs energies");
    if (!energies) return energies.error();
    auto indices = Input<std::uint32_t>::create(runtime, std::move(tables_.indices), "xs indices");
    if (!indices) return indices.error();
    auto materials = Output<xsbench::Material>::copy_of(runtime, tables_.materials);
    if (!materials) return materials.error();
    auto nuclides = Output<std::uint32_t>::copy_of(runtime, tables_.material_nuclides);
    if (!nuclides) return nuclides.error();
    auto concentrations = Output<double>::copy_of(runtime, tables_.concentrations);
    if (!concentrations) return concentrations.error();
    auto answers = Output<xsbench::Answer>::create(runtime, lookups_);
    if (!answers) return answers.error();
    memory_ = std::make_unique<Memory>(
        Memory{std::move(points.value()), std::move(energies.value()), std::move(indices.value()),
               std::move(materials.value()), std::move(nuclides.value()),
               std::move(concentrations.value()), std::move(answers.value())});
    return {};
  }

  Status run(Runtime& runtime) override {
    const xsbench::Lookup kernel{.energies = memory_->energies.data(),
                                 .energy_count = memory_->energies.size(),
                                 .indices = memory_->indices.data(),
                                 .nuclides = tables_.nuclides,
                                 .points = memory_->points.data(),
                                 .grid_points = tables_.grid_points,
                                 .materials = memory_->materials.data(),
                                 .material_nuclides = memory_->nuclides.data(),
                                 .concentrations = memory_->concentrations.data(),
                                 .answers = memory_->answers.data(),
                                 .lookups = lookups_,
                                 .seed = seed_};
    return launch_kernel(runtime, shape_on(runtime), kernel, "xsbench");
  }

  std::vector<double> answers() override { return listed(memory_->answers); }
  std::vector<double> reference() override {
    std::vector<xsbench::Answer> answers;
    for (std::uint64_t lookup = 0; lookup < lookups_; ++lookup) {
      answers.push_back(xsbench::search_each(tables_, xsbench::sample_of(seed_, lookup)));
    }
    return listed(answers);
  }
  // A compiler may fuse a multiplication and an addition on one side and not on the other.
  [[nodiscard]] double tolerance() const override { return 1e-12; }

  [[nodiscard]] std::vector<const DemandRegion*> regions() const override {
    return {memory_->points.region(), memory_->energies.region(), memory_->indices.region()};
  }

 private:
  struct Memory {
    Input<xsbench::Point> points;
    Input<double> energies;
    Input<std::uint32_t> indices;
    Output<xsbench::Material> materials;
    Output<std::uint32_t> nuclides;
    Output<double> concentrations;
    Output<xsbench::Answer> answers;
  };

  xsbench::Tables tables_;
  std::uint64_t lookups_;
  std::uint64_t seed_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_xsbench(Runtime& runtime, const Settings& settings) {
  xsbench::Tables tables =
      xsbench::tables_of(settings.by_scale<std::uint32_t>(16, 68, 68),
                         settings.by_scale<std::uint32_t>(64, 512, 2'048), settings.seed);
  const auto lookups = settings.by_scale<std::uint64_t>(1'000, 30'000, 200'000);
  auto workload = std::make_unique<Xsbench>(std::move(tables), lookups, settings.seed + 2);
  if (Status status = workload->prepare(runtime); !status) return status.error();
  return Result<std::unique_ptr<Workload>>(std::move(workload));
}

}  // namespace k2k::labs::generators
