#pragma once
// The device's units serve requests themselves, between two work-items.
//
//   unit: work-items run ─▶ all wait ─▶ takes a role ─▶ collect, serve ─▶ gives it back ─▶ look
//                                          ▲ busy: another thread serves
//   k2k/serve: stands by and looks every rescan_us for requests of units that compute for long,
//              for lost doorbells, and for requests of a unit that is stuck in a call
//
// If units are threads of the host (cpu backend), a request and its answer stay in the caches of
// one core, and no thread is woken. The thread pool makes the calls that may sleep. A unit whose
// call takes long loses its role to the watcher (role.hpp); the work-items of that unit wait for
// the call.
//
// Threading: begin() and end() by one thread at a time. serve() and rest() by the unit's thread; a
// role has one holder at a time.

#include <cstdint>
#include <vector>

#include "backend/backend.hpp"
#include "server/core/role_service.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class InlineUnits final : public backend::InlineService {
 public:
  struct Parts {
    backend::Backend& backend;
    ServiceThreads& threads;
    Roles& roles;
    RoleService& service;
  };
  explicit InlineUnits(const Parts& parts) : parts_(parts) {}

  // Lets units serve if the configuration says so. Returns false if there is no memory for their
  // statistics.
  bool begin(const ServerConfig& config);
  // Stops service by units. When end() returns, no unit serves, except a unit in a system call that
  // does not end.
  void end();

  Found serve(std::uint32_t unit, Reach reach) noexcept override;
  void rest(std::uint32_t unit) noexcept override;

 private:
  // Expects the role held; the role is given back or lost. Returns true if at least one request was
  // served.
  bool serve_role(ServiceThread& self, Role& role);

  const Parts parts_;
  std::vector<ServiceThread*> units_;  // The statistics of each unit, by its number.
  bool began_ = false;
};

}  // namespace k2k::server
