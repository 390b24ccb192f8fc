#pragma once
// The slots whose requests wait in a container that grows with its requests. Only a device that
// writes to its slots at the wrong time can have a second request accepted for a waiting slot: the
// container drops it, and the slot gets the answer of the first. So the container never holds more
// requests than the device has slots, however often a slot is published again.
//
// Threading: one owner.

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "protocol/area.hpp"
#include "services/request.hpp"

namespace k2k::server {

class OnceASlot {
 public:
  // Returns false if a request of its slot already waits. Throws std::bad_alloc before any change.
  bool add(const services::Request& request) { return slots_.insert(slot_of(request)).second; }
  void remove(const services::Request& request) { slots_.erase(slot_of(request)); }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  static std::uint64_t slot_of(const services::Request& request) {
    return std::uint64_t{request.wave} * protocol::wave_lanes_max + request.lane;
  }

  std::unordered_set<std::uint64_t> slots_;
};

}  // namespace k2k::server
