#pragma once
// A benchmark's figure: one quantity against another, with a series for each way of doing the work.
//
// As JSON, for the plots of tools/devtool/figures.py:
//
//   {"x": {"name": "file size", "unit": "MiB", "values": [4, 16]}, "y": {"name": ..., "unit": ...},
//    "runs": 10, "series": {"work-item": {"median": [...], "mean": [...], "sd": [...]}, ...}}
//
// Threading: none.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "bench/command/bench.hpp"
#include "bench/command/progress.hpp"

namespace k2k::bench {

struct Axis {
  const char* name;
  const char* unit;
};

class Figure {
 public:
  Figure(Axis x, Axis y, std::vector<double> places, std::vector<std::string> series);

  Samples& at(std::size_t series, std::size_t place) { return samples_[series][place]; }
  // Expects a sample in each place of each series.
  [[nodiscard]] double median(std::size_t series, std::size_t place) const;
  // Expects the same number of samples, at least one, everywhere.
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  Axis x_;
  Axis y_;
  std::vector<double> places_;
  std::vector<std::string> series_;
  std::vector<std::vector<Samples>> samples_;  // [series][place]
};

// Was this made by Figure::json()?
bool is_figure(const nlohmann::ordered_json& value);
// The figure as text: a heading, then one line of medians for each place of the x axis.
std::string figure_text(const nlohmann::ordered_json& figure);

// A list of objects with the same keys, as a table of one line each. For results that are not
// curves.
bool is_table(const nlohmann::ordered_json& value);
std::string table_text(const nlohmann::ordered_json& table);

// Counts rounds: at least `least`, at most `most`. Between these bounds, no round begins that would
// probably end after the budget, judged by the longest round so far. Tells the progress.
class Rounds {
 public:
  // `name`: of the benchmark, whose progress is told.
  Rounds(std::string name, int least, int most, double budget_s);
  // True: another round begins.
  bool next();

 private:
  int least_;
  int most_;
  Nanoseconds budget_;
  Instant begin_;
  Instant round_;
  Nanoseconds longest_{};
  int done_ = 0;
  Progress progress_;
};

// A file without a name in memory (tmpfs, as the thesis reads from), filled with `bytes` bytes.
class MemoryFile {
 public:
  // Errors: as memfd_create(2) and write(2).
  static Result<MemoryFile> create(std::size_t bytes);
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  MemoryFile& operator=(MemoryFile&&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace k2k::bench
