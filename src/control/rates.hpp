#pragma once
// What a runtime did between two answers to "show": rates of what only grows, and what there is
// now.
//
// Answers come from other processes, perhaps of another version: what is missing or of another kind
// counts as 0.
//
// Threading: pure functions.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace k2k::control {

// Fractions of one core's time are `cores`' elements; of all cores' the others.
struct CallRate {
  std::string name;
  double requests = 0;  // A second.
  double p50_us = 0;    // Since the runtime began.
  double p99_us = 0;
  double share = 0;
};
struct TenantRate {
  std::uint64_t tenant = 0;
  double requests = 0;
  double share = 0;
  double part = 0;       // Of all cores' time: its budget; 0 where it has none of its own.
  double throttled = 0;  // As in Rates.
};
struct NamedShare {
  std::string name;  // Of a stage; a core's number.
  double share = 0;
};

struct Rates {
  double seconds = 0;   // Between the two.
  double requests = 0;  // A second.
  double p50_us = 0;    // Of the requests between the two; 0 without any.
  double p99_us = 0;
  std::uint64_t queue = 0;      // Accepted and not yet answered, now.
  double share = 0;             // Of all cores' CPU time, by the ledger.
  double cap = 0;               // In force; 0 = none.
  double throttled = 0;         // Waits that were ordered, summed over threads, a second of time.
  double wakes = 0;             // A second.
  double saved = 0;             // Interrupts that coalescing and polling saved, a second.
  std::vector<CallRate> calls;  // Those that were made between the two, most frequent first.
  std::vector<TenantRate> tenants;     // All that ever asked.
  std::vector<std::string> conflicts;  // Promises to tenants that the cap does not allow.
  std::vector<NamedShare> stages;
  std::vector<NamedShare> cores;
};

Rates rates_between(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after);

}  // namespace k2k::control
