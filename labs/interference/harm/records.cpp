#include "labs/interference/harm/records.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace k2k::labs::harm {

using nlohmann::ordered_json;

Records::~Records() {
  if (file_ != nullptr) std::fclose(file_);
}

Status Records::open(const std::string& path) {
  path_ = path;
  file_ = std::fopen(path.c_str(), "ae");
  if (file_ != nullptr) return {};
  return Error{errno, fmt::format("cannot write {}: {}; name another file with --out", path,
                                  std::strerror(errno))};
}

Status Records::write(const ordered_json& record) {
  const std::string line = record.dump() + "\n";
  const auto put = [&](std::FILE* file) {
    errno = 0;
    return std::fputs(line.c_str(), file) >= 0 && std::fflush(file) == 0;
  };
  if (file_ != nullptr && !put(file_)) {
    return Error{errno, fmt::format("cannot write {}: {}; the runs so far are kept there: make "
                                    "room and run again with --resume",
                                    path_, std::strerror(errno))};
  }
  if (prints_ && !put(stdout)) {
    return Error{errno, fmt::format("cannot write to standard output: {}", std::strerror(errno))};
  }
  return {};
}

Result<Earlier> load_records(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Error{errno, fmt::format("cannot read {}: {}; leave --resume out to begin a study", path,
                                    std::strerror(errno))};
  }
  Earlier earlier;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const ordered_json record = ordered_json::parse(line, nullptr, false);
    if (record.is_discarded() && file.peek() == std::ifstream::traits_type::eof()) break;
    try {
      const std::string kind = record.at("kind");
      if (kind == "plan") {
        if (record.at("schema") != schema) {
          return Error{EINVAL,
                       fmt::format("{} has records of schema {}, this build has {}; begin a "
                                   "study in another file",
                                   path, record.at("schema").dump(), schema)};
        }
        earlier.plan = record;
      } else if (kind == "run") {
        earlier.runs[record.at("at")] = run_from(record);
      }
    } catch (const ordered_json::exception&) {
      return Error{EINVAL, fmt::format("{}, line {} is no record of a study", path, number)};
    }
  }
  if (earlier.plan.is_null()) {
    return Error{EINVAL, fmt::format("{} has no plan of a study; begin one in another file", path)};
  }
  return earlier;
}

}  // namespace k2k::labs::harm
