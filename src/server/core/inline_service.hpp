#pragma once
// The device's units serve requests themselves, between two work-items.
//
//   unit: work-items run ─▶ all wait ─▶ takes a role ─▶ collect, serve ─▶ gives it back ─▶ look
//                                          ▲ busy: another thread serves
//   k2k/serve: stands by and looks every rescan_us for requests of units that compute for long,
//              for lost doorbells, and for requests of a unit that is stuck in a call
//
// Where units are threads of the host (cpu backend), a request and its answer stay in the caches
// of one core, and no thread is woken. A unit makes no call that may sleep: the thread pool makes
// those. A unit whose call takes long loses its role to the watcher (role.hpp); the work-items of
// that unit wait for the call.
//
// Threading: serve() and rest() by the unit's thread; a role is one thread's at a time.

#include <cstdint>
#include <vector>

#include "server/core/core.hpp"

namespace k2k::server {

class Server::Core::OnUnits final : public backend::InlineService {
 public:
  explicit OnUnits(Core& core) : core_(&core) {}

  // The accounts of each unit, by its number.
  std::vector<ServiceThread*> units;

  Found serve(std::uint32_t unit, Reach reach) noexcept override;
  void rest(std::uint32_t unit) noexcept override;

 private:
  // Expects the role held; the role is given back or lost. True: at least one request was served.
  bool serve_role(ServiceThread& self, Role& role);

  Core* core_;
};

}  // namespace k2k::server
