#include "server/pool/roles.hpp"

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "host/thread_state.hpp"
#include "server/account/calibration.hpp"

namespace k2k::server {

namespace {
// Holder of a role whose thread was abandoned.
constexpr std::uint32_t abandoned_holder = 0xffffff;
}  // namespace

Roles::Roles(backend::Backend& backend) {
  const protocol::AreaView& area = backend.area();
  for (std::uint32_t ring = 0; ring < area.ring_count; ++ring) {
    consumers_.emplace_back(area.rings[ring]);
    roles_.push_back(std::make_unique<Role>(area, ring));
    roles_.back()->top_half.attend(backend);
  }
  vacant_.reserve(2 * roles_.size());
}

std::array<std::uint64_t, protocol::ring_count_max> Roles::positions(const Role& role) const {
  std::array<std::uint64_t, protocol::ring_count_max> positions;
  positions.fill(backend::any_position);
  for (const protocol::RingConsumer* ring : role.top_half.rings()) {
    positions[static_cast<std::size_t>(ring - consumers_.data())] = ring->position();
  }
  return positions;
}

std::uint64_t Roles::coalescing_changes() const {
  std::uint64_t sum = 0;
  for (const auto& role : roles_) sum += role->adaptive.changes();
  return sum;
}

std::vector<Pending> Roles::assign(const ServerConfig& config) {
  const std::uint32_t wanted = config.top_halves;
  // The steps that allocate memory come first, so all roles change or none.
  std::vector<std::vector<protocol::RingConsumer*>> rings_of(roles_.size());
  for (auto& rings : rings_of) rings.reserve(consumers_.size());
  std::size_t count = 0;
  for (const auto& role : roles_) count += role->parked.count();
  std::vector<Pending> parked;
  parked.reserve(count);
  if (config.coalesce_window_us != 0 || config.coalescing == Coalescing::adaptive) {
    static_cast<void>(calibrated_costs());
  }
  for (std::uint32_t index = 0; index < roles_.size(); ++index) {
    Role& role = *roles_[index];
    std::vector<protocol::RingConsumer*>& rings = rings_of[index];
    for (std::uint32_t ring = index; index < wanted && ring < consumers_.size(); ring += wanted) {
      rings.push_back(&consumers_[ring]);
    }
    role.top_half.assign(std::move(rings), index, wanted);
    role.top_half.configure(config);
    // The costs are measured only when needed. A sleep must save more than its own cost.
    const bool adaptive = role.adaptive.configure(config);
    if (adaptive || config.coalesce_window_us != 0) {
      role.top_half.sleep_beyond(2 * cycles_in(calibrated_costs().sleep));
    }
    if (adaptive) {
      role.top_half.hold(role.adaptive.setting().window_us, role.adaptive.setting().max);
    }
    role.openness = openness_of(config.policy);
    role.trace = config.trace;
    role.split = hands_bundles_out(config.bottom_half);
    role.on_units.store(config.bottom_half == BottomHalfMode::on_unit);
    role.parked.drain(parked);
  }
  return parked;
}

void Roles::pause() {
  wanted_.store(0);
  vacant_.clear();
}

void Roles::resume(std::uint32_t wanted) {
  wanted_.store(wanted);
  for (std::uint32_t index = 0; index < wanted; ++index) vacant_.push_back(roles_[index].get());
}

Role* Roles::take_vacant(std::uint32_t thread) {
  if (vacant_.empty() || wanted() == 0) return nullptr;
  Role& role = *vacant_.front();
  vacant_.erase(vacant_.begin());
  ++held_;
  const bool shared = role.on_units.load(std::memory_order_relaxed);
  K2K_EXPECT(shared || role.word.take(thread));
  return &role;
}

void Roles::leave(Role& role, std::uint32_t thread) {
  role.word.vacate(thread);
  --held_;
}

void Roles::pass_on(Role& role, std::uint32_t thread) {
  leave(role, thread);
  if (wanted(role)) vacant_.push_back(&role);
}

Role* Roles::take_over_stuck(const ServiceThreads& threads, std::uint32_t thread) {
  for (const auto& role : roles_) {
    const RoleWord::View view = role->word.view();
    if (view.phase == RolePhase::vacant) continue;
    const ServiceThread& holder = threads.at(view.holder);
    const std::pair seen{view.holder, holder.call.view()};
    const auto before = std::exchange(role->watched, seen);
    // A unit that lost its core is not in a long call: a take-over would only displace it again.
    // While a unit copies cached bytes, its other work-items wait for it anyway.
    if (seen != before || !telemetry::Mark::inside(seen.second) ||
        (holder.is_unit &&
         !host::thread_waits(holder.system_thread.load(std::memory_order_acquire))) ||
        !role->word.take_over(view.holder, holder.call, seen.second, thread)) {
      continue;
    }
    if (role->on_units.load(std::memory_order_relaxed)) ++held_;
    return role.get();
  }
  return nullptr;
}

bool Roles::abandon(Role& role, const ServiceThreads& threads) {
  const RoleWord::View view = role.word.view();
  if (view.phase == RolePhase::vacant) return true;
  const telemetry::Mark& mark = threads.call_of(view.holder);
  return role.word.take_over(view.holder, mark, mark.view(), abandoned_holder);
}

std::uint64_t Roles::calls_begun() const {
  std::uint64_t sum = 0;
  for (const auto& role : roles_) sum += role->calls_begun.load();
  return sum;
}

}  // namespace k2k::server
