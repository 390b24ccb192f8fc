#pragma once
// Is a history of GETs and SETs of one key linearizable?
//
// The server numbers its SETs (CAS), and both kinds of answers carry the number. So the order of
// the writes is known, and the question has an answer in n log n: every operation has a version,
// and an operation that began after another one had ended must not have an older version; a SET not
// an equal one either. With the order given this is exact: sorted by version, SETs before the GETs
// of the same version, the operations are a sequential history that real time permits.
//
// Threading: pure functions.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace k2k::memcached {

struct Operation {
  bool is_set = false;
  std::int64_t begin = 0;     // Before the request was sent, and
  std::int64_t end = 0;       // after the answer had come.
  std::uint64_t version = 0;  // CAS of the answer; 0: a GET that found nothing.
  std::string value;          // Written, or read.
};

// The first contradiction found, or nullopt.
inline std::optional<std::string> contradiction_in(std::vector<Operation> history) {
  std::map<std::uint64_t, const Operation*> sets;
  for (const Operation& each : history) {
    if (!each.is_set) continue;
    if (!sets.emplace(each.version, &each).second) return "two SETs have one version";
  }
  for (const Operation& each : history) {
    if (each.is_set || each.version == 0) continue;
    const auto written = sets.find(each.version);
    if (written == sets.end()) return "a GET has a version that no SET has";
    if (written->second->value != each.value) return "a GET has another value than its SET";
    if (each.end < written->second->begin) return "a GET has a value from the future";
  }
  // For each operation the newest version among those that had ended before it began.
  std::vector<const Operation*> by_end;
  for (const Operation& each : history) by_end.push_back(&each);
  std::vector<const Operation*> by_begin = by_end;
  std::sort(by_end.begin(), by_end.end(),
            [](const auto* left, const auto* right) { return left->end < right->end; });
  std::sort(by_begin.begin(), by_begin.end(),
            [](const auto* left, const auto* right) { return left->begin < right->begin; });
  std::uint64_t newest = 0;
  std::size_t ended = 0;
  for (const Operation* const each : by_begin) {
    for (; ended < by_end.size() && by_end[ended]->end < each->begin; ++ended) {
      newest = std::max(newest, by_end[ended]->version);
    }
    if (each->version < newest) return "an operation has an older version than one before it";
    if (each->is_set && each->version == newest) return "a SET has the version of one before it";
  }
  return std::nullopt;
}

}  // namespace k2k::memcached
