#pragma once
// Memory of a run as JSON, for the commands of the programs with input files.
//
// Threading: pure functions.

#include <nlohmann/json.hpp>
#include <vector>

#include "apps/common/resident.hpp"

namespace k2k::apps {

inline nlohmann::ordered_json json_of(const ProcessMemory& memory) {
  return {{"resident_bytes", memory.bytes}, {"linux_faults", memory.faults}};
}

inline nlohmann::ordered_json json_of(const std::vector<ResidentSample>& samples) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ResidentSample& sample : samples) {
    rows.push_back({{"seconds", sample.seconds},
                    {"anonymous_bytes", sample.anonymous},
                    {"file_bytes", sample.file},
                    {"shared_bytes", sample.shared},
                    {"page_cache_bytes", sample.cached}});
  }
  return rows;
}

}  // namespace k2k::apps
