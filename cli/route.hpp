#pragma once
// What the parts of `k2k route` share.
//
// Threading: the main thread.

#include <cstdint>

#include "cli/command.hpp"
#include "labs/routing/baselines.hpp"
#include "router/plan/explain.hpp"
#include "router/plan/planner.hpp"

namespace k2k::cli {

// Of the router's own, and of those that it is compared with.
struct Planners {
  router::Planner& own;
  labs::routing::Baselines& others;
};

struct Schedule {
  const char* name;
  router::Plan (*make)(const Planners& planners, router::Residency residency);
  router::Rule rule = router::Rule::exact;
  bool overlapped = false;  // Its time is until both ways are done, not one after the other.
};

// Nothing if there is none of that name; complain_schedule() then lists those that there are.
const Schedule* find_schedule(const std::string& name);
int complain_schedule(const std::string& name);

struct Explain {
  std::string file;
  std::string offset;  // As typed: "64K".
  std::string length;
  std::string schedule = "exact";
};

// Says what would become of one read of a file, and why; prints.
int explain_route(const Context& context, const Explain& wanted);

// Lists which engines bring file data to which memory here, and why not the others; prints.
int list_engines(const Context& context);

struct Simulate {
  std::uint64_t vectors = 0;  // Of each pattern; 0 is the default, by `full`.
  std::uint64_t seed = 1;
  bool full = false;
};

// Compares the schedules with the least time on random residencies; prints.
int simulate_routes(const Context& context, const router::Model& model, const Simulate& wanted);

// A model that the router does not take; what the message lacks is where to set it.
int complain_model(const Error& error);

}  // namespace k2k::cli
