#pragma once
// The comparison of the modes of an input file (apps/common/input_memory.hpp): pages on demand, or
// read before into small pages or huge ones.
//
// Programs of apps/ run on the same inputs in each mode, as processes of their own that take turns
// in random order. All runs of one input must have the same answer.
//
// Threading: one thread.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/command/app_run.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/figure.hpp"

namespace k2k::bench {

// What one run of a program says in its JSON object.
struct ModeRun {
  nlohmann::ordered_json answer;  // Equal in all runs of one input.
  double seconds = 0;             // From the open file to the answer.
  double work_seconds = 0;        // Without the load, where the program tells it apart.
  double cpu_seconds = 0;         // Of the work, all threads; where the program tells it.
  double device_seconds = 0;      // In launches.
  double grown_bytes = 0;         // Of resident memory, at most.
  std::uint64_t demand_pages = 0;
  std::uint64_t huge_bytes = 0;
  std::vector<std::pair<const char*, double>> more = {};  // Columns of this program alone.
};

struct ModeProgram {
  const char* name;  // k2k-NAME of apps/NAME.
  std::vector<std::string> work;
  ModeRun (*read)(const nlohmann::ordered_json& result);
};

// One program on one input in one mode: a row of the table.
struct ModeRow {
  std::string order;  // The input is FOLDER/PROGRAM/ORDER.
  std::string by;
  std::string mode;
  Samples seconds = {};
  Samples device_seconds = {};
  ModeRun last = {};  // Of the round.
  double grown_most = 0;
  std::vector<Samples> more = {};
};

using Ratios = std::map<std::string, std::vector<double>>;  // A value a round, by name.

class InputModes {
 public:
  // The inputs, "sorted" and "unsorted", lie in FOLDER/PROGRAM. `by`: the ways beside the kernel,
  // which have no mode huge. Huge pages are left out where Linux gives none. Errors: as AppRun.
  static Result<InputModes> create(ModeProgram program, AppRun app, std::string folder,
                                   const std::vector<std::string>& others);

  // Each row once, in random order. Errors: as AppRun; EIO (an answer differs).
  Status run_round(std::uint32_t seed);
  // "PROGRAM ORDER: demand / pinned" of the seconds, and "pinned / huge" of the work.
  void add_ratios(Ratios& ratios) const;
  // Expects that there is such a row.
  [[nodiscard]] const ModeRow& row(const std::string& order, const std::string& by,
                                   const std::string& mode) const;
  void add_rows(nlohmann::ordered_json& table) const;
  [[nodiscard]] bool huge() const { return huge_; }

 private:
  InputModes(ModeProgram program, AppRun app, std::string folder)
      : program_(std::move(program)), app_(std::move(app)), folder_(std::move(folder)) {}
  Status run(ModeRow& row);

  ModeProgram program_;
  AppRun app_;
  std::string folder_;
  bool huge_ = true;
  std::vector<ModeRow> rows_;
  std::map<std::string, nlohmann::ordered_json> answers_;  // By order.
};

}  // namespace k2k::bench
