#include "router/plan/planner.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace k2k::router {

namespace {

std::uint32_t never_if_free(Costs costs) {
  costs.cache_page = 0;
  return never_from_cache(costs);
}

}  // namespace

Result<Planner> Planner::create(const Model& model, std::uint32_t pages, const Scan& scan) {
  const Result<Costs> costs = costs_of(model);
  if (!costs) return costs.error();
  if (pages == 0 || pages > pages_max) {
    return Error{EINVAL, fmt::format("a planner for requests of {} pages; permitted are 1 to {} "
                                     "(2 GiB); split the request",
                                     pages, pages_max)};
  }
  return Planner(model, costs.value(), pages, scan);
}

Planner::Planner(const Model& model, const Costs& costs, std::uint32_t pages, const Scan& scan)
    : model_(model),
      costs_(costs),
      room_pages_(pages),
      never_(never_from_cache(costs)),
      never_free_(never_if_free(costs.together())),
      scan_(&scan),
      runs_(pages / 2 + 2),
      picked_(pages / 2 + 2),
      kept_(pages / 2 + 2),
      stages_(pages / 2 + 4),
      parents_(pages / 2 + 2) {}

Plan Planner::keep(const Plan& plan) {
  std::copy(plan.cached.begin(), plan.cached.end(), kept_.begin());
  return {plan.pages, std::span(kept_).first(plan.cached.size())};
}

}  // namespace k2k::router
