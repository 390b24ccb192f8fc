#include "apps/xsbench/run.hpp"

#include "apps/xsbench/kernel.hpp"

namespace k2k::xsbench {

namespace {

// A table of the host in memory of the lookups. Errors: those of `memory`.
template <class Value>
Result<const Value*> placed(const std::vector<Value>& values, const apps::LookupMemory& memory) {
  const auto place = memory.allocate(values.size() * sizeof(Value));
  if (!place) return place.error();
  if (Status copied = memory.copy(*place, values.data(), values.size() * sizeof(Value)); !copied) {
    return copied.error();
  }
  return static_cast<const Value*>(*place);
}

class Lookups : public apps::LookupProgram {
 public:
  explicit Lookups(const TableFile& file) : file_(file) {}

  [[nodiscard]] const apps::InputFile& file() const override { return file_; }
  [[nodiscard]] const char* name() const override { return "k2k-xsbench"; }
  [[nodiscard]] std::uint64_t lookups() const override { return file_.header.lookups; }
  [[nodiscard]] apps::LookupTotals expected() const override {
    return {.found = file_.header.lookups, .bits = file_.header.bits};
  }

  // The materials are copied: they were judged, and the file may change.
  Status prepare(const std::byte* data, std::uint32_t turn, apps::LookupTotals* totals,
                 const apps::LookupMemory& memory) override {
    const Header& header = file_.header;
    const Layout at(header);
    const auto materials = placed(file_.materials, memory);
    if (!materials) return materials.error();
    const auto nuclides = placed(file_.material_nuclides, memory);
    if (!nuclides) return nuclides.error();
    const auto concentrations = placed(file_.concentrations, memory);
    if (!concentrations) return concentrations.error();
    const auto answers = memory.allocate(header.lookups * sizeof(Answer));
    if (!answers) return answers.error();
    lookup_ = {.energies = reinterpret_cast<const double*>(data + at.energies),
               .energy_count = header.energies(),
               .indices = reinterpret_cast<const std::uint32_t*>(data + at.indices),
               .nuclides = header.nuclides,
               .points = reinterpret_cast<const Point*>(data),
               .grid_points = header.grid_points,
               .materials = *materials,
               .material_nuclides = *nuclides,
               .concentrations = *concentrations,
               .answers = static_cast<Answer*>(*answers),
               .lookups = header.lookups,
               .samples = reinterpret_cast<const Sample*>(data + at.samples),
               .turn = turn,
               .totals = totals};
    return {};
  }

  Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape) override {
    return launch_lookup(runtime, shape, lookup_);
  }
  void run_part(std::uint32_t part, std::uint32_t parts) override { lookup_.run(part, parts); }

  [[nodiscard]] Error wrong_place(std::uint64_t place, std::uint8_t reason) const override {
    return wrong_word(file_, place, static_cast<Wrong>(reason));
  }

 private:
  const TableFile& file_;
  Lookup lookup_;
};

}  // namespace

Result<apps::LookupOutcome> look_all_up(const TableFile& file, const apps::LookupSettings& settings,
                                        const RuntimeConfig& config) {
  Lookups lookups(file);
  return apps::run_lookups(lookups, settings, config);
}

}  // namespace k2k::xsbench
