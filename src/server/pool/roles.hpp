#pragma once
// The roles of a server, one per ring: the wanted roles, the vacant roles, and the number of held
// roles.
//
//   vacant ── take_vacant ──▶ held ── leave ──▶ not wanted
//     ▲                        │ ▲
//     └─────── pass_on ────────┘ └── take_over_stuck: another thread holds it
//
// Threading: wanted() from anywhere. assign() while no role is held. All other members of Roles
// under the lock of the thread pool: idle threads wait for a vacant role as for other work. Members
// of a Role belong to its holder, unless their comments say otherwise.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "protocol/area.hpp"
#include "server/govern/adaptive.hpp"
#include "server/poll/bottom_half.hpp"
#include "server/poll/role.hpp"
#include "server/poll/top_half.hpp"
#include "server/pool/parked.hpp"
#include "server/pool/service_thread.hpp"
#include "server/pool/service_threads.hpp"
#include "server/settings/config.hpp"
#include "services/policy.hpp"

namespace k2k::server {

// One top half and the requests that its holder works on.
struct Role {
  Role(const protocol::AreaView& area, std::uint32_t which) : index(which), top_half(area) {
    bundle.reserve(bundle_requests_max);
    batch.reserve(bundle_requests_max);
    waiting.reserve(bundle_requests_max);
  }

  const std::uint32_t index;
  RoleWord word;
  TopHalf top_half;
  Adaptive adaptive;
  Bundle bundle;
  std::vector<Pending> batch;  // Accepted, in order; [batch_next, end) is not executed yet.
  std::size_t batch_next = 0;
  std::vector<Pending> waiting;               // Tried, and waiting for a peer.
  std::atomic<std::uint64_t> calls_begun{0};  // Read by the watcher (ThreadPool::begins_calls).
  ParkedRequests parked;                      // Of tenants whose budget is exhausted.
  services::Openness openness = services::Openness::any;
  bool trace = false;
  bool split = false;                 // Other threads serve the requests that its holder finds.
  std::atomic<bool> on_units{false};  // Units take it for short times (core/inline_units.hpp).
  bool walking =
      false;  // Calls are made while `bundle` is processed: its processing is not complete.
  // The holder and its call at the watcher's last tick; guarded by the pool's lock.
  std::pair<std::uint32_t, telemetry::Mark::View> watched;
};

class Roles {
 public:
  explicit Roles(backend::Backend& backend);
  Roles(const Roles&) = delete;
  Roles& operator=(const Roles&) = delete;

  [[nodiscard]] std::size_t count() const { return roles_.size(); }
  [[nodiscard]] Role& at(std::size_t index) { return *roles_[index]; }
  // Roles [0, wanted) must be held; 0 = paused. Holders look once per round.
  [[nodiscard]] std::uint32_t wanted() const { return wanted_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool wanted(const Role& role) const { return wanted() > role.index; }
  // The positions up to which the rings of this role were read, for Backend::wait_doorbell().
  [[nodiscard]] std::array<std::uint64_t, protocol::ring_count_max> positions(
      const Role& role) const;
  [[nodiscard]] std::uint64_t coalescing_changes() const;

  // Gives each role its rings and settings. Removes and returns the parked requests. Throws
  // std::bad_alloc before any change.
  std::vector<Pending> assign(const ServerConfig& config);

  // Makes no role wanted: each holder leaves.
  void pause();
  // Makes roles [0, wanted) wanted and vacant. Expects no role held.
  void resume(std::uint32_t wanted);
  [[nodiscard]] std::uint32_t held() const { return held_; }

  // Takes the first vacant role for this thread; returns nullptr if none is vacant. A unit may be
  // using a role on units: then the role only counts as held, and the thread waits until the unit
  // vacates its word.
  Role* take_vacant(std::uint32_t thread);
  // A thread gives back its role; no thread takes it.
  void leave(Role& role, std::uint32_t thread);
  // A thread gives back its role; another thread takes it, if it is wanted.
  void pass_on(Role& role, std::uint32_t thread);
  // A thread that rescued a role of units has lost it to another one.
  void lose() { --held_; }
  // Takes over, for `thread`, a role whose holder has been in one call since the last look; returns
  // nullptr if there is none. If units serve, the thread that stands by for the role keeps it, and
  // `thread` only rescues its requests.
  Role* take_over_stuck(const ServiceThreads& threads, std::uint32_t thread);
  // Takes a role from a holder that is in a call; no thread receives it. Returns false if the
  // holder is in no call.
  static bool abandon(Role& role, const ServiceThreads& threads);

  // The number of calls that holders have begun.
  [[nodiscard]] std::uint64_t calls_begun() const;

 private:
  std::vector<protocol::RingConsumer> consumers_;
  std::vector<std::unique_ptr<Role>> roles_;  // One per ring; the first top_halves are in use.
  std::vector<Role*> vacant_;                 // Has room for all.
  std::uint32_t held_ = 0;
  std::atomic<std::uint32_t> wanted_{0};
};

}  // namespace k2k::server
