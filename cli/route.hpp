#pragma once
// Shared declarations of the parts of `k2k route`.
//
// Threading: the main thread.

#include <cstdint>

#include "cli/command.hpp"
#include "labs/routing/baselines.hpp"
#include "router/plan/explain.hpp"
#include "router/plan/planner.hpp"

namespace k2k::cli {

// The router's planner, and the planners to compare with.
struct Planners {
  router::Planner& own;
  labs::routing::Baselines& others;
};

struct Schedule {
  const char* name;
  router::Plan (*make)(const Planners& planners, router::Residency residency);
  router::Rule rule = router::Rule::exact;
  bool overlapped = false;  // Its time ends when both paths are done in parallel, not one after the
                            // other.
};

// Returns nullptr if no schedule has this name; complain_schedule() then lists the names.
const Schedule* find_schedule(const std::string& name);
int complain_schedule(const std::string& name);

struct Explain {
  std::string file;
  std::string offset;  // As given: "64K".
  std::string length;
  std::string schedule = "exact";
};

// Prints how the router would serve one read of a file, and why.
int explain_route(const Context& context, const Explain& wanted);

// Prints which engines can transfer file data to which memory on this machine, and why others
// cannot.
int list_engines(const Context& context);

struct Simulate {
  std::uint64_t vectors = 0;  // Per pattern; 0: the default, by `full`.
  std::uint64_t seed = 1;
  bool full = false;
};

// Compares the schedules with the least time on random residencies, and prints the result.
int simulate_routes(const Context& context, const router::Model& model, const Simulate& wanted);

// For a model that the router rejects; adds the name of the setting to the message.
int complain_model(const Error& error);

}  // namespace k2k::cli
