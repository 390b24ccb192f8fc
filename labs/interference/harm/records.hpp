#pragma once
// The records of a study: JSON lines, written as they are measured, so that a stopped study
// continues where it ended.
//
//   {"kind":"plan", ...}   the first line: the machine and all that the runs depend on
//   {"kind":"run", ...}    one a run
//   {"kind":"result", ...} the last line: figures and verdicts
//
// Threading: the laboratory's thread.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "labs/interference/harm/study.hpp"

namespace k2k::labs::harm {

// Raised when a record changes its meaning; a study of another number is not resumed.
inline constexpr int schema = 3;

class Records {
 public:
  Records() = default;
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  // Appends to a file, or makes it. Without a call records go nowhere. Errors: as open(2), with the
  // path.
  Status open(const std::string& path);
  // Also prints each record to standard output.
  void print() { prints_ = true; }
  // Errors: as write(2), with the path and the remedy.
  Status write(const nlohmann::ordered_json& record);

 private:
  std::string path_;
  std::FILE* file_ = nullptr;
  bool prints_ = false;
};

struct Earlier {
  nlohmann::ordered_json plan;
  EarlierRuns runs;
};
// The plan and the runs of a file. A last line that was cut off is left out. Errors: as open(2);
// EINVAL, no records of this schema.
Result<Earlier> load_records(const std::string& path);

}  // namespace k2k::labs::harm
