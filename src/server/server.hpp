#pragma once
// Serves the requests of one device: sources → top half → bottom half → workers.
//
// One pool of threads, three kinds of work, taken in this order:
//   role     poll the rings of one top half and serve its requests (leader)
//   bundle   run the bottom half on a top half's doorbells (split mode)
//   call     one request that waits for a peer (follower, after a hand-off)
// One thread always stays idle: an idle thread watches the roles and takes over polling from a
// thread whose call lasts longer than takeover_us. So no call, short or long, delays the others.
//
// Threading: every member may be called from any thread. No lock is held while a request is
// executed; docs/decisions/0059 describes the objects behind this class and their locks.

#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "base/result.hpp"
#include "server/account/stats.hpp"
#include "server/settings/config.hpp"
#include "telemetry/event_ring.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {
class CallRules;
class HostFunctions;
}  // namespace k2k::services

namespace k2k::server {

class Server {
 public:
  // The program's objects that serve requests.
  struct Provided {
    std::shared_ptr<router::Files>
        files{};  // Null: Linux' calls, and the process's registered memory.
    std::shared_ptr<services::HostFunctions> functions{};  // Null: none.
    // The rules of config.policy_file, for CallPolicy::file only; the server makes those of the
    // other policies.
    std::shared_ptr<services::CallRules> rules{};
  };

  // Starts serving. The backend outlives the server. Errors: those of validate(); EAGAIN if no
  // thread can be started; ENOTSUP where Linux lacks a wall of WallMode::strict.
  static Result<std::unique_ptr<Server>> start(backend::Backend& backend,
                                               const ServerConfig& config, Provided provided);
  static Result<std::unique_ptr<Server>> start(backend::Backend& backend,
                                               const ServerConfig& config) {
    return start(backend, config, {});
  }

  // Drains within shutdown_ms, then ends: unanswered requests get TransportError::shutdown, and
  // threads stuck in a call are abandoned without harm.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns once every request published before the call was answered, with the errors of detached
  // calls since the last drain. Waits as long as the calls take.
  std::vector<DetachedError> drain();

  // Changes all settings at once between two requests. Errors: EINVAL without any change; ENOMEM
  // after which the governor may have changed.
  Status reconfigure(const ServerConfig& config);
  [[nodiscard]] ServerConfig config() const;

  [[nodiscard]] Stats stats() const;
  // The newest events of each thread (telemetry/event_ring.hpp), oldest first; empty unless
  // config().trace.
  [[nodiscard]] std::vector<telemetry::Event> events() const;

 private:
  class Core;
  explicit Server(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;  // Shared with the threads: an abandoned thread keeps it alive.
};

}  // namespace k2k::server
