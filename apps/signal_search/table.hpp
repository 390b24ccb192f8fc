#pragma once
// The inputs of signal-search: records and queries in files, and their generator.
//
//   records   64 bytes each, sorted by their first 8 bytes, a little-endian key; no key twice
//   queries   8 bytes each, a little-endian key
//
// Threading: one thread.

#include <string>
#include <vector>

#include "apps/signal_search/job.hpp"
#include "base/result.hpp"

namespace k2k::signal_search {

// Errors: those of open(2) and read(2); EINVAL (no record, a size that is no multiple, keys out of
// order).
Result<std::vector<Record>> read_records(const std::string& path);
Result<std::vector<std::uint64_t>> read_queries(const std::string& path);

struct TableSizes {
  std::uint32_t records = 1 << 18;
  std::uint32_t queries = 1 << 17;
  std::uint64_t seed = 1;
};
std::vector<Record> make_records(const TableSizes& sizes);
// Half of the queries have a record.
std::vector<std::uint64_t> make_queries(const TableSizes& sizes);
// Writes FOLDER/records and FOLDER/queries. Errors: those of mkdir(2) and write(2).
Status generate(const std::string& folder, const TableSizes& sizes);

}  // namespace k2k::signal_search
