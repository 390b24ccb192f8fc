#pragma once
// A runtime's activity between two answers to "show": rates of growing counters, and current
// values.
//
// Answers come from other processes, perhaps of another version: a field that is missing or of
// another type counts as 0.
//
// Threading: pure functions.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace k2k::control {

// Elements of `cores` are fractions of one core's time; other fractions refer to all cores.
struct CallRate {
  std::string name;
  double requests = 0;  // Per second.
  double p50_us = 0;    // Since the runtime began.
  double p99_us = 0;
  double share = 0;
};
struct TenantRate {
  std::uint64_t tenant = 0;
  double requests = 0;
  double share = 0;
  double part = 0;       // Its budget, of all cores' time; 0 if it has no budget of its own.
  double throttled = 0;  // As in Rates.
};
struct NamedShare {
  std::string name;  // A stage's name or a core's number.
  double share = 0;
};

struct Rates {
  double seconds = 0;   // Between the two answers.
  double requests = 0;  // Per second.
  double p50_us = 0;    // Of the requests between the two answers; 0 without requests.
  double p99_us = 0;
  std::uint64_t queue = 0;      // Accepted and not yet answered, now.
  double share = 0;             // Of all cores' CPU time, by the ledger.
  double cap = 0;               // In force; 0: none.
  double throttled = 0;         // Waits ordered by the governor, summed over threads, per second.
  double wakes = 0;             // Per second.
  double saved = 0;             // Interrupts per second that coalescing and polling avoided.
  std::vector<CallRate> calls;  // Calls made between the two answers, most frequent first.
  std::vector<TenantRate> tenants;     // All tenants that ever made a request.
  std::vector<std::string> conflicts;  // Guarantees of tenants that the cap does not allow.
  std::vector<NamedShare> stages;
  std::vector<NamedShare> cores;
};

Rates rates_between(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after);

}  // namespace k2k::control
