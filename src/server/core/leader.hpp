#pragma once
// The loop of a role's holder: poll, serve, hand off, rest. If units serve, the holder stands by.
//
//   lead():  look at the rings ─▶ bundle ─▶ served (role_service.hpp), or handed out (split,
//              │                                                              staged)
//              │ nothing: rescan when due, spin, yield, sleep (poll_ladder.hpp)
//              └ units serve: stand_by()
//
// Threading: by service threads that hold a role. The configuration changes only while no role is
// held, so the holder reads it without a lock.

#include <cstdint>

#include "backend/backend.hpp"
#include "server/core/role_service.hpp"
#include "server/core/split_service.hpp"
#include "server/govern/admission.hpp"
#include "server/pool/placement.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/split_queue.hpp"
#include "server/pool/thread_pool.hpp"
#include "server/settings/config.hpp"

namespace k2k::server {

class Leader {
 public:
  struct Parts {
    backend::Backend& backend;
    Admission& admission;
    Roles& roles;
    SplitQueue& split_queue;
    ThreadPool& pool;
    RoleService& service;
    SplitService& split;
    const ServerConfig& config;
  };
  // A role may use the cores that the calling thread may use.
  explicit Leader(const Parts& parts);
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  // Serves until the role is not wanted any more. Returns false if the role is lost or handed off.
  bool lead(ServiceThread& self, Role& role);
  // Serves the remaining requests of a unit that is stuck in a call.
  void rescue(ServiceThread& self, Role& role);

  // Waits until no unit holds the role, then takes it. Does nothing if units do not serve.
  static void take_from_units(const ServiceThread& self, Role& role);
  // Sleeps until a doorbell is rung, at most `longest_us`. Returns true if a launch ended the
  // sleep.
  bool rest(ServiceThread& self, const Role& role, Notify notify, std::uint32_t longest_us);

 private:
  // Watches a role that units take, until it is not wanted or there is a cap. The role is held at
  // the beginning and at the end.
  void stand_by(ServiceThread& self, Role& role);
  enum class Look : std::uint8_t { nothing, served, lost };  // lost: another thread has the role.
  Look look_after(ServiceThread& self, Role& role);
  void place(ServiceThread& self, const Role& role) const;  // Applies steering.

  const Parts parts_;
  const Placement placement_;
};

}  // namespace k2k::server
