#include "emulator/cuda/exec/check/copies.hpp"

#include <algorithm>
#include <utility>

namespace k2k::emulator::exec::check {

std::string Copy::call_name() const {
  const std::string name(call);
  return name.ends_with("_v2") ? name.substr(0, name.size() - 3) : name;
}

std::string Copy::text(std::uint64_t address) const {
  const std::uint64_t first = std::max(address, begin) - begin;
  return "byte " + std::to_string(first) + " of the " + std::to_string(end - begin) + " that " +
         call_name() + (writes ? " writes" : " reads");
}

void Copies::add(Copy copy) {
  const std::lock_guard lock(mutex_);
  if (all_.size() >= copies_max) all_.erase(all_.begin());
  all_.push_back(std::move(copy));
  count_.store(all_.size());
}

void Copies::end(const TaskOrder& order, std::uint64_t ended) {
  const std::lock_guard lock(mutex_);
  for (Copy& copy : all_) {
    if (copy.ended == 0 && order.covers(copy.place.task)) copy.ended = ended;
  }
}

void Copies::forget(std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const Copy& copy) { return copy.begin < end && begin < copy.end; });
  count_.store(all_.size());
}

void Copies::forget_ended() {
  const std::lock_guard lock(mutex_);
  auto ended = static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [](const Copy& copy) { return copy.ended != 0; }));
  std::erase_if(all_,
                [&](const Copy& copy) { return copy.ended != 0 && ended-- > ended_copies_max; });
  count_.store(all_.size());
}

bool Copies::unordered(const Footprint& access, std::uint64_t address, const TaskOrder& before,
                       std::uint64_t known, Copy& found) const {
  if (count_.load() == 0) return false;
  const std::shared_lock lock(mutex_);
  const auto at = std::find_if(all_.begin(), all_.end(), [&](const Copy& copy) {
    const bool overlaps = copy.begin < address + access.size && address < copy.end;
    return overlaps && (copy.writes || access.writes) && !before.covers(copy.place.task) &&
           (copy.ended == 0 || copy.ended > known);
  });
  if (at == all_.end()) return false;
  found = *at;
  return true;
}

}  // namespace k2k::emulator::exec::check
