#include "labs/routing/baselines.hpp"

namespace k2k::labs::routing {

Baselines::Baselines(const router::Costs& costs, std::uint32_t pages, const router::Scan& scan)
    : costs_(costs),
      scan_(&scan),
      runs_(pages / 2 + 2),
      picked_(pages / 2 + 2),
      stages_(pages + 2),
      parents_(pages + 2),
      copied_(pages + 2) {}

}  // namespace k2k::labs::routing
