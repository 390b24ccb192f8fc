#include "apps/bpt/run.hpp"

#include "apps/bpt/kernel.hpp"

namespace k2k::bpt {

namespace {

class Searches : public apps::LookupProgram {
 public:
  explicit Searches(const TreeFile& file) : file_(file) {}

  [[nodiscard]] const apps::InputFile& file() const override { return file_; }
  [[nodiscard]] const char* name() const override { return "k2k-bpt"; }
  [[nodiscard]] std::uint64_t lookups() const override { return file_.header.lookups; }
  [[nodiscard]] apps::LookupTotals expected() const override {
    return {.found = file_.header.found, .bits = file_.header.bits};
  }

  Status prepare(const std::byte* data, std::uint32_t turn, apps::LookupTotals* totals,
                 const apps::LookupMemory& memory) override {
    const Header& header = file_.header;
    const auto found = memory.allocate(header.lookups * sizeof(std::uint64_t));
    if (!found) return found.error();
    const auto* const nodes = reinterpret_cast<const Node*>(data);
    search_ = {.tree = {nodes, header.nodes, header.root, header.levels},
               .wanted = reinterpret_cast<const std::uint64_t*>(nodes + header.nodes),
               .found = static_cast<std::uint64_t*>(*found),
               .lookups = header.lookups,
               .turn = turn,
               .totals = totals};
    return {};
  }

  Result<LaunchReport> launch(Runtime& runtime, const LaunchShape& shape) override {
    return launch_search(runtime, shape, search_);
  }
  void run_part(std::uint32_t part, std::uint32_t parts) override { search_.run(part, parts); }

  [[nodiscard]] Error wrong_place(std::uint64_t place, std::uint8_t reason) const override {
    return wrong_node(file_, place, static_cast<Wrong>(reason));
  }

 private:
  const TreeFile& file_;
  Search search_;
};

}  // namespace

Result<apps::LookupOutcome> search_all(const TreeFile& file, const apps::LookupSettings& settings,
                                       const RuntimeConfig& config) {
  Searches searches(file);
  return apps::run_lookups(searches, settings, config);
}

}  // namespace k2k::bpt
