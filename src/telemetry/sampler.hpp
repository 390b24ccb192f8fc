#pragma once
// Selects events of a kind for measurement, if measuring every event would cost too much.
//
//   the first `exact_max` of a kind   each is measured, and represents itself
//   after that                        one in `stride` is measured, and represents `stride`
//
// So rare events are counted exactly, and the sums and counts of frequent events are right within
// one stride. The stride is a prime: of 2^n callers in turn it selects all, one after another.
//
// Threading: confined to one thread. Always inlined, because files that are compiled without
// ThreadSanitizer use it beside files that are compiled with it (backend/cpu/fibre/sanitizers.hpp).

#include <array>
#include <cstddef>
#include <cstdint>

namespace k2k::telemetry {

class Sampler {
 public:
  static constexpr std::uint32_t exact_max = 1024;
  static constexpr std::uint32_t stride = 127;
  static constexpr std::size_t kinds = 64;  // Further kinds share elements.

  // The number of events that this one represents; 0: it is not measured.
  [[gnu::always_inline]] std::uint32_t next(std::size_t kind) {
    Place& place = places_[kind % kinds];
    if (place.skip != 0) [[likely]] {
      --place.skip;
      return 0;
    }
    if (place.seen < exact_max) {
      ++place.seen;
      return 1;
    }
    place.skip = stride - 1;
    return stride;
  }

 private:
  struct Place {
    std::uint32_t skip = 0;
    std::uint32_t seen = 0;
  };
  std::array<Place, kinds> places_{};
};

}  // namespace k2k::telemetry
