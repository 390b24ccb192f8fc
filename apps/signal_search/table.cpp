#include "apps/signal_search/table.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>

namespace k2k::signal_search {

namespace {

Error failed_with(const std::string& path, int error) {
  return Error{error, fmt::format("{}: {}", path, std::strerror(error))};
}

// A file of values of one size.
template <class Value>
Result<std::vector<Value>> read_values(const std::string& path, const char* name) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "rbe"), [](std::FILE* open) { return std::fclose(open); });
  if (file == nullptr) return failed_with(path, errno);
  struct stat status{};
  if (::fstat(::fileno(file.get()), &status) != 0) return failed_with(path, errno);
  if (S_ISDIR(status.st_mode)) return failed_with(path, EISDIR);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0) return Error{EINVAL, fmt::format("{}: no {}", path, name)};
  if (bytes % sizeof(Value) != 0) {
    return Error{EINVAL, fmt::format("{}: {} bytes are no multiple of a {}'s {}", path, bytes, name,
                                     sizeof(Value))};
  }
  std::vector<Value> values(bytes / sizeof(Value));
  const std::size_t read = std::fread(values.data(), sizeof(Value), values.size(), file.get());
  if (std::ferror(file.get()) != 0) return failed_with(path, errno);
  if (read != values.size()) {
    return Error{EINVAL, fmt::format("{}: became shorter while it was read", path)};
  }
  return values;
}

template <class Value>
Status put_values(const std::string& path, const std::vector<Value>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(Value)));
  file.close();
  return file ? Status{} : failed_with(path, errno);
}

// Keys are even numbers for records: a query for an odd one finds nothing.
std::uint64_t key_of(std::uint64_t place) { return place * 14 + 2; }

}  // namespace

Result<std::vector<Record>> read_records(const std::string& path) {
  auto records = read_values<Record>(path, "record");
  if (!records) return records;
  for (std::size_t place = 1; place < records->size(); ++place) {
    if ((*records)[place].key <= (*records)[place - 1].key) {
      return Error{EINVAL,
                   fmt::format("{}: record {} has the key {} behind the key {}; sort them", path,
                               place, (*records)[place].key, (*records)[place - 1].key)};
    }
  }
  return records;
}

Result<std::vector<std::uint64_t>> read_queries(const std::string& path) {
  return read_values<std::uint64_t>(path, "query");
}

std::vector<Record> make_records(const TableSizes& sizes) {
  std::mt19937_64 random(sizes.seed);
  std::vector<Record> records(sizes.records);
  for (std::size_t place = 0; place < records.size(); ++place) {
    records[place].key = key_of(place);
    for (std::size_t at = 0; at < sizeof(Record::payload); at += 8) {
      const std::uint64_t value = random();
      std::memcpy(records[place].payload + at, &value, 8);
    }
  }
  return records;
}

std::vector<std::uint64_t> make_queries(const TableSizes& sizes) {
  std::mt19937_64 random(sizes.seed + 1);
  std::vector<std::uint64_t> queries(sizes.queries);
  for (std::uint64_t& query : queries) {
    const std::uint64_t draw = random();
    query = key_of(draw / 2 % sizes.records) + draw % 2;
  }
  return queries;
}

Status generate(const std::string& folder, const TableSizes& sizes) {
  if (::mkdir(folder.c_str(), 0777) != 0) return failed_with(folder, errno);
  if (Status put = put_values(folder + "/records", make_records(sizes)); !put) return put;
  return put_values(folder + "/queries", make_queries(sizes));
}

}  // namespace k2k::signal_search
