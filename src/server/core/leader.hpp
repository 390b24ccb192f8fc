#pragma once
// What the holder of a role does: poll, serve, hand off, rest. Where units serve, it stands by.
//
//   lead():  look at the rings ─▶ bundle ─▶ served (role_service.hpp), or handed out (split mode)
//              │ nothing: rescan when due, spin, yield, sleep (poll_ladder.hpp)
//              └ units serve: stand_by()
//
// Threading: by service threads that hold a role. The configuration changes only while no role is
// held, so the holder reads it without a lock.

#include <sched.h>

#include <cstdint>

#include "backend/backend.hpp"
#include "server/core/role_service.hpp"
#include "server/core/split_service.hpp"
#include "server/govern/admission.hpp"
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
  // Where the calling thread may run, each role may.
  explicit Leader(const Parts& parts);
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  // Until the role is not wanted any more. False: it is lost or handed off.
  bool lead(ServiceThread& self, Role& role);
  // Serves the requests that a unit left behind which is stuck in a call.
  void rescue(ServiceThread& self, Role& role);

  // Waits until no unit holds the role, and holds it. Does nothing where units do not serve.
  static void take_from_units(const ServiceThread& self, Role& role);
  // Sleeps until a doorbell is rung, at most so long. True if a launch ended it.
  bool rest(ServiceThread& self, const Role& role, Notify notify, std::uint32_t longest_us);

 private:
  // Looks after a role that units take, until it is not wanted or there is a cap. The role is held
  // at the beginning and at the end.
  void stand_by(ServiceThread& self, Role& role);
  enum class Look : std::uint8_t { nothing, served, lost };  // Lost: the role is.
  Look look_after(ServiceThread& self, Role& role);
  void place(ServiceThread& self, const Role& role) const;  // Applies steering.

  const Parts parts_;
  cpu_set_t home_cores_{};  // Where the process was allowed to run at start.
};

}  // namespace k2k::server
