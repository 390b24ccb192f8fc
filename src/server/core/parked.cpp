// Where tenants have budgets of their own: each request is admitted once, before it is first tried.
// One whose tenant may spend nothing now is parked, in its role or, in split mode, beside the queue
// of attempts, and the others are served. What a call costs after it was admitted is owed.

#include <algorithm>

#include "base/clock.hpp"
#include "server/core/core.hpp"
#include "services/fault.hpp"

namespace k2k::server {

namespace {
// Between two looks at the doorbells, of each budget: others may have rung.
constexpr std::size_t parked_at_once = services::faults_max;

std::uint32_t tenant_of(const services::Request& request) {
  return static_cast<std::uint32_t>(tenant_place(request.attributes));
}
}  // namespace

bool Server::Core::admits(ServiceThread& self, const services::Request& request) {
  return admission_.admits(self.account, tenant_of(request));
}

bool Server::Core::park(const ServiceThread& self, Role& role, const Pending& call) {
  const std::uint32_t tenant = tenant_of(call.request);
  return role.parked.add(call, admission_.budget_of(tenant),
                         admission_.ask_at(self.account, tenant));
}

void Server::Core::park_faults(ServiceThread& self, Role& role) {
  std::erase_if(role.batch, [&](const Pending& call) {
    if (!services::is_fault(call.request) || admits(self, call.request)) return false;
    return park(self, role, call);
  });
}

bool Server::Core::serve_parked(ServiceThread& self, Role& role) {
  role.batch.clear();
  role.batch_next = 0;
  // Without budgets any more, the batch asks as every other.
  const bool by_tenant = admission_.by_tenant();
  role.parked.take(
      cycles(), parked_at_once, role.batch,
      [&](const services::Request& request) { return !by_tenant || admits(self, request); },
      [&](const services::Request& request) {
        return admission_.ask_at(self.account, tenant_of(request));
      });
  self.clock = cycles();
  return role.batch.empty() || serve_accepted(self, role);
}

// Roles and budgets may be others now. Without memory to park a request, it is served.
void Server::Core::park_again(const std::vector<Pending>& parked) {
  for (const Pending& call : parked) {
    const std::size_t budget = admission_.budget_of(tenant_of(call.request));
    if (!roles_.at(0).parked.add(call, budget, 0)) pool_.queue(call);
  }
}

// One thread waits for all parked attempts; other threads serve the ones that come meanwhile.
bool Server::Core::keep_parked_attempts(ServiceThread& self) {
  // For a tenant that another thread was refused, this one may ask at once.
  const auto due = split_.keep_parked([&](const services::Request& request) {
    return admission_.ask_at(self.account, tenant_of(request));
  });
  if (!due) return false;
  admission_.sleep_until(self.account, *due);
  split_.give_back_parked();
  return true;
}

}  // namespace k2k::server
