// What do demand paging and larger pages cost, and give, a program whose input is a mapped file?
// (thesis, sections 4.4.2 and 4.5.2, figures 4.3, 4.8 and 4.9)
//
// CoMD and miniFE run on the same input in two orders, each with pages on demand, read before the
// launch into small pages, and into huge ones, as processes of their own that take turns in random
// order. All modes of one file must have the same bits. Resident memory is counted from before the
// runtime, and the device's part of the time is that of the launches.

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/temporary_folder.hpp"
#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"
#include "bench/command/goal.hpp"

namespace k2k::bench {

namespace {

using Words = std::vector<std::string>;

struct MappedProgram {
  const char* name;
  Words size;        // Of --generate.
  Words brief_size;  // The same for --brief.
  Words work;        // Of a run.
};
const MappedProgram mapped_programs[] = {
    {"comd", {"--unit-cells", "20"}, {"--unit-cells", "5"}, {"--steps", "3", "--every", "3"}},
    {"minife", {"--elements", "40"}, {"--elements", "8"}, {}}};
constexpr const char* mapped_modes[] = {"demand", "pinned", "huge"};

// A program, an order and a mode.
struct MappedRow {
  std::size_t app;  // Of Mapped::apps.
  const char* program;
  const char* order;
  const char* mode;
  Words words;
  Samples seconds = {};
  Samples device_seconds = {};
  std::uint64_t grown = 0;  // Resident bytes, the most of any run.
  std::uint64_t pages = 0;
  std::uint64_t huge = 0;
};

Status run_mapped(const AppRun& app, MappedRow& row, std::string& bits, double& seconds) {
  const auto result = app.run(row.words);
  if (!result) return result.error();
  const auto now = (*result)["bits"].get<std::string>();
  if (bits.empty()) bits = now;
  if (bits != now) {
    return Error{EIO, std::string(row.program) + " has other bits in the mode " + row.mode};
  }
  seconds = (*result)["seconds"].get<double>();
  row.seconds.add(seconds);
  row.device_seconds.add((*result)["kernel_seconds"].get<double>());
  const auto begin = (*result)["begin"]["resident_bytes"].get<std::uint64_t>();
  const auto end = (*result)["end"]["resident_bytes"].get<std::uint64_t>();
  row.grown = std::max(row.grown, end - std::min(begin, end));
  row.pages = (*result)["demand_pages"].get<std::uint64_t>();
  row.huge = (*result)["huge_bytes"].get<std::uint64_t>();
  return {};
}

double mapped_mib(std::uint64_t bytes) { return rounded(static_cast<double>(bytes) / (1 << 20)); }

nlohmann::ordered_json json_of(const MappedRow& row) {
  return {{"program", row.program},
          {"order", row.order},
          {"mode", row.mode},
          {"ms", rounded(row.seconds.median() * 1e3)},
          {"sd_ms", rounded(row.seconds.deviation() * 1e3)},
          {"device_ms", rounded(row.device_seconds.median() * 1e3)},
          {"grown_mib", mapped_mib(row.grown)},
          {"demand_pages", row.pages},
          {"huge_mib", mapped_mib(row.huge)}};
}

// Does Linux give huge pages? Errors: those of a run for another reason.
Result<bool> has_huge_pages(const AppRun& app, const std::string& file) {
  const auto result = app.run({"--mode", "huge", file});
  if (result) return true;
  if (result.error().message.find("Linux gave no huge page") != std::string::npos) return false;
  return result.error();
}

// The programs, and a row for each of their files and modes.
struct Mapped {
  std::vector<AppRun> apps;
  std::vector<MappedRow> rows;
  bool huge = true;
};

// Generates the inputs. Errors: as AppRun.
Result<Mapped> prepare_mapped(const std::string& folder, bool brief) {
  Mapped mapped;
  for (const MappedProgram& program : mapped_programs) {
    auto app = AppRun::find(program.name, program.name);
    if (!app) return app.error();
    const std::string inputs = folder + "/" + program.name;
    Words generate = brief ? program.brief_size : program.size;
    generate.insert(generate.end(), {"--generate", inputs});
    if (Status made = app->run_plainly(generate); !made) return made.error();
    const auto given = has_huge_pages(*app, inputs + "/sorted");
    if (!given) return given.error();
    mapped.huge = mapped.huge && *given;
    for (const char* const order : {"sorted", "unsorted"}) {
      for (const char* const mode : mapped_modes) {
        Words words = program.work;
        words.insert(words.end(), {"--mode", mode, inputs + "/" + order});
        mapped.rows.push_back({mapped.apps.size(), program.name, order, mode, std::move(words)});
      }
    }
    mapped.apps.push_back(std::move(app.value()));
  }
  if (!mapped.huge) {
    std::erase_if(mapped.rows,
                  [](const MappedRow& row) { return row.mode == std::string("huge"); });
  }
  return mapped;
}

}  // namespace

Result<nlohmann::ordered_json> mapped_inputs(const RuntimeConfig&, Effort effort) {
  const bool brief = effort == Effort::brief;
  const Result<TemporaryFolder> folder = TemporaryFolder::create("k2k-bench-in");
  if (!folder) return folder.error();
  auto prepared = prepare_mapped(folder->path(), brief);
  if (!prepared) return prepared.error();
  std::vector<MappedRow>& rows = prepared->rows;
  const bool huge = prepared->huge;

  std::map<std::string, std::string> bits;
  std::map<std::string, std::vector<double>> ratios;
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  for (Rounds rounds = brief ? Rounds(2, 2, 0) : Rounds(5, 20, 30); rounds.next();) {
    std::shuffle(order.begin(), order.end(), random);
    std::map<std::string, std::map<std::string, double>> seconds;
    for (const std::size_t place : order) {
      MappedRow& row = rows[place];
      const std::string file = std::string(row.program) + " " + row.order;
      const Status done =
          run_mapped(prepared->apps[row.app], row, bits[file], seconds[file][row.mode]);
      if (!done) return done.error();
    }
    for (auto& [file, of] : seconds) {
      ratios[file + ": demand / pinned"].push_back(of["demand"] / of["pinned"]);
      if (huge) ratios[file + ": pinned / huge"].push_back(of["pinned"] / of["huge"]);
    }
  }

  nlohmann::ordered_json table;
  for (const MappedRow& row : rows) table.push_back(json_of(row));
  nlohmann::ordered_json times;
  for (const auto& [name, rounds] : ratios) times.push_back(ratio_row(name.c_str(), rounds));
  return nlohmann::ordered_json{{"bits_identical", true},  // The loop ends with an error otherwise.
                                {"huge_pages", huge ? "given" : "not available"},
                                {"modes", table},
                                {"time", times}};
}

}  // namespace k2k::bench
