#include "backend/cpu/simt/residents.hpp"

#include <algorithm>

namespace k2k::backend::cpu {

namespace {

// The first rows of units lie a multiple of resident_waves apart, often of the number of rings,
// too.
std::uint32_t shift_of(std::uint32_t unit, const DeviceConfig& config) {
  const std::uint32_t first = unit * config.resident_waves % config.rings;
  return (unit % config.rings + config.rings - first) % config.rings % config.resident_waves;
}

}  // namespace

Residents::Residents(Unit& unit, std::uint32_t index, const UnitPlan& plan, LaunchState& launch,
                     std::byte* local)
    : unit_(unit),
      plan_(plan),
      launch_(launch),
      local_(local),
      first_row_(index * plan.config.resident_waves),
      row_shift_(shift_of(index, plan.config)),
      item_pages_(plan.items_max * sizeof(WorkItem)),
      wave_pages_(plan.config.resident_waves * sizeof(Wave)),
      group_pages_(plan.config.resident_groups * sizeof(Group)),
      items_(item_pages_.as<WorkItem>()),
      waves_(wave_pages_.as<Wave>()),
      groups_(group_pages_.as<Group>()) {}

bool Residents::usable() const {
  return !item_pages_.empty() && !wave_pages_.empty() && !group_pages_.empty();
}

void Residents::begin_launch() {
  const DeviceConfig& config = plan_.config;
  group_waves_ = (launch_.group_items + config.wave_lanes - 1) / config.wave_lanes;
  // An even share first, so that the unit that wakes first does not take all.
  const std::uint32_t share = (launch_.groups - 1) / launch_.units_used + 1;
  open_ = std::min({config.resident_groups, config.resident_waves / group_waves_, share});
  resident_ = 0;
  left_ = true;
  free_ = nullptr;
  for (std::uint32_t row = open_; row-- > 0;) {
    groups_[row].next_free = free_;
    free_ = &groups_[row];
  }
}

// The next group, with no work-item filled in yet; nullptr: the launch has none left, or no room.
Group* Residents::take() {
  if (!left_ || resident_ >= open_) return nullptr;
  const std::uint32_t id = launch_.next_group.fetch_add(1, std::memory_order_relaxed);
  left_ = id < launch_.groups;
  if (!left_) return nullptr;
  Group& group = *free_;
  free_ = group.next_free;
  ++resident_;
  const auto row = static_cast<std::uint32_t>(&group - groups_);
  group.id = id;
  group.items = group.live = launch_.group_items;
  group.arrived = group.barriers = 0;
  group.first = items_ + std::size_t{row} * group.items;
  clear_local(group, row);
  return &group;
}

void Residents::clear_local(Group& group, std::uint32_t row) {
  group.local = local_ + row * plan_.local_stride;
  if (group.local_used != 0) zero_fresh(group.local, scratch_bytes);
  if (group.local_variables != 0) {
    zero_fresh(group.local + variables_begin, group.local_used - variables_begin);
  }
  group.local_used = variables_begin;
  group.local_variables = 0;
}

std::uint32_t Residents::live_items() const {
  std::uint32_t live = 0;
  for (std::uint32_t row = 0; row < open_; ++row) live += groups_[row].live;
  return live;
}

void Residents::forget_all() {
  for (std::uint32_t row = 0; row < open_; ++row) groups_[row].live = 0;
  resident_ = 0;
}

}  // namespace k2k::backend::cpu
