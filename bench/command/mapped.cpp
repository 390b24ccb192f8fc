// What do demand paging and larger pages cost, and give, a program whose input is a mapped file?
// (thesis, sections 4.4.2 and 4.5.2, figures 4.3, 4.8 and 4.9)
//
// CoMD, miniFE, BPT and XSBench run on the same input in two orders and in each mode
// (input_modes.hpp). All modes of one file must have the same bits. Resident memory is counted from
// before the runtime, and the device's part of the time is that of the launches.

#include <algorithm>

#include "base/temporary_folder.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/goal.hpp"
#include "bench/command/input_modes.hpp"

namespace k2k::bench {

namespace {

ModeRun mapped_run(const nlohmann::ordered_json& result) {
  ModeRun run;
  run.answer = result["bits"];
  run.seconds = result["seconds"].get<double>();
  run.work_seconds = run.seconds;
  run.device_seconds = result["kernel_seconds"].get<double>();
  run.grown_bytes = std::max(0.0, result["end"]["resident_bytes"].get<double>() -
                                      result["begin"]["resident_bytes"].get<double>());
  run.demand_pages = result["demand_pages"].get<std::uint64_t>();
  run.huge_bytes = result["huge_bytes"].get<std::uint64_t>();
  return run;
}

// A launch is all of the work, and comes after the load.
ModeRun lookup_run(const nlohmann::ordered_json& result) {
  ModeRun run = mapped_run(result);
  run.work_seconds = run.device_seconds;
  return run;
}

struct MappedProgram {
  ModeProgram program;
  std::vector<std::string> size;        // Of --generate.
  std::vector<std::string> brief_size;  // The same for --brief.
};
const MappedProgram mapped_programs[] = {
    {{"comd", {"--steps", "3", "--every", "3"}, mapped_run},
     {"--unit-cells", "20"},
     {"--unit-cells", "5"}},
    {{"minife", {}, mapped_run}, {"--elements", "40"}, {"--elements", "8"}},
    {{"bpt", {}, lookup_run},
     {"--keys", "4000000", "--lookups", "400000"},
     {"--keys", "20000", "--lookups", "500"}},
    {{"xsbench", {}, lookup_run},
     {"--grid-points", "1024", "--lookups", "60000"},
     {"--nuclides", "20", "--grid-points", "50", "--lookups", "500"}}};

// Generates the inputs. Errors: as AppRun.
Result<std::vector<InputModes>> prepare_mapped(const std::string& folder, bool brief) {
  std::vector<InputModes> made;
  for (const MappedProgram& each : mapped_programs) {
    auto app = AppRun::find(each.program.name, each.program.name);
    if (!app) return app.error();
    const std::string inputs = folder + "/" + each.program.name;
    std::vector<std::string> generate = brief ? each.brief_size : each.size;
    generate.insert(generate.end(), {"--generate", inputs});
    if (Status done = app->run_plainly(generate); !done) return done.error();
    auto modes = InputModes::create(each.program, std::move(app.value()), inputs, {});
    if (!modes) return modes.error();
    made.push_back(std::move(modes.value()));
  }
  return Result<std::vector<InputModes>>(std::move(made));
}

}  // namespace

Result<nlohmann::ordered_json> mapped_inputs(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  const Result<TemporaryFolder> folder = TemporaryFolder::create("k2k-bench-in");
  if (!folder) return folder.error();
  auto programs = prepare_mapped(folder->path(), brief);
  if (!programs) return programs.error();
  Ratios ratios;
  std::uint32_t seed = 1;
  for (Rounds rounds = brief ? Rounds("mapped", 2, 2, 0) : Rounds("mapped", 5, 20, 30);
       rounds.next(); ++seed) {
    for (InputModes& program : *programs) {
      if (Status done = program.run_round(seed); !done) return done.error();
      program.add_ratios(ratios);
    }
  }
  nlohmann::ordered_json table;
  for (const InputModes& program : *programs) program.add_rows(table);
  nlohmann::ordered_json times;
  for (const auto& [name, values] : ratios) times.push_back(ratio_row(name.c_str(), values));
  return nlohmann::ordered_json{{"bits_identical", true},  // An error otherwise.
                                {"huge_pages", (*programs)[0].huge() ? "given" : "not available"},
                                {"modes", table},
                                {"times", times}};
}

}  // namespace k2k::bench
