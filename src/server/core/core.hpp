#pragma once
// The objects behind Server and their connections. Private to this folder.
//
//   device ─▶ Roles ─▶ Leader ─▶ RoleService ─▶ Answers ─▶ device
//               ▲        └ split: SplitQueue ─▶ SplitService ─▶ Answers
//               │        └ would wait: WaitingCalls ─▶ DescriptorWatch, FutexWatch, ColdReads,
//               │                      HostDesk, or the pool
//           ThreadPool   └ page faults: FaultDesk
//
// Core has no policy of its own: it starts, reconfigures and stops the objects, in an order that
// loses no request (docs/decisions/0059).
//
// Threading: from anywhere. control_, then config_lock_, come before all other locks of the server.

#include <memory>
#include <mutex>
#include <vector>

#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/core/guard.hpp"
#include "server/core/host_desk.hpp"
#include "server/core/inline_units.hpp"
#include "server/core/leader.hpp"
#include "server/core/role_service.hpp"
#include "server/core/split_service.hpp"
#include "server/core/waiting_calls.hpp"
#include "server/govern/admission.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/pool/descriptor_watch.hpp"
#include "server/pool/fault_desk.hpp"
#include "server/pool/futex_watch.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/roles.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/set_aside_parts.hpp"
#include "server/pool/split_queue.hpp"
#include "server/pool/system_calls.hpp"
#include "server/pool/thread_pool.hpp"
#include "server/reads/cold_reads.hpp"
#include "server/server.hpp"

namespace k2k::server {

class Server::Core : public std::enable_shared_from_this<Server::Core> {
 public:
  Core(backend::Backend& backend, const ServerConfig& config, Provided provided);

  Status start();
  void stop();
  std::vector<DetachedError> drain();
  Status reconfigure(const ServerConfig& config);
  [[nodiscard]] ServerConfig config() const;
  [[nodiscard]] Stats stats() const;
  [[nodiscard]] std::vector<telemetry::Event> events() const;

 private:
  // For the threads of calls that were set aside. Expects these parts constructed.
  SetAsideParts set_aside_parts();
  // The eventfds for calls that wait. Errors: EMFILE, ENFILE, ENOMEM.
  Status open_events();
  // For all service threads, before the first one. Errors: those of Walls::create().
  Status build_walls();
  // A worker of the pool, until the pool ends.
  void work(ServiceThread& self);
  void do_work(ServiceThread& self, const ThreadPool::Work& work);
  // Gives the roles their rings and the settings of config_. Expects no role held. Throws
  // std::bad_alloc before any change.
  void assign_roles();

  backend::Backend* backend_;
  const std::shared_ptr<router::Files> files_;                // Never null.
  const std::shared_ptr<services::HostFunctions> functions_;  // Never null.
  const std::shared_ptr<services::CallRules> rules_;          // Never null.
  Answers answers_;
  BottomHalf bottom_half_;
  Admission admission_;

  // Threads, and requests that wait for them.
  SystemCalls system_calls_;
  ServiceThreads threads_;
  RequestPlaces places_;
  Roles roles_;
  SplitQueue split_queue_;
  ThreadPool pool_;
  FaultDesk faults_;
  DescriptorWatch descriptors_;
  FutexWatch words_;
  ColdReads reads_;
  HostDesk host_desk_;

  // The work of the threads.
  WaitingCalls waiting_;
  RoleService service_;
  SplitService split_;
  Leader leader_;
  Guard guard_;
  InlineUnits units_;

  std::mutex control_;  // One reconfiguration or stop at a time.
  // Guards config_ against config(). It changes only while no role is held and no bundle is in a
  // queue, so serving threads read it without this lock.
  mutable std::mutex config_lock_;
  ServerConfig config_;
  const CallPolicy first_policy_;  // At the start.
};

}  // namespace k2k::server
