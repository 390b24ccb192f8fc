#pragma once
// Which events of a kind are looked at closely, where a look costs more than the event should.
//
//   the first `exact_max` of a kind   each, and it stands for itself
//   after that                        one in `stride`, and it stands for `stride`
//
// So what is rare is counted exactly, and of what is frequent the sums and the counts are right
// within one stride. The stride is a prime: of 2^n callers in turn it takes all, one after another.
//
// Threading: confined to one thread. Always inlined, for files that ThreadSanitizer does not see
// use it beside files that it does (backend/cpu/simt/sanitizers.hpp).

#include <array>
#include <cstddef>
#include <cstdint>

namespace k2k::telemetry {

class Sampler {
 public:
  static constexpr std::uint32_t exact_max = 1024;
  static constexpr std::uint32_t stride = 31;
  static constexpr std::size_t kinds = 64;  // Others share places.

  // For how many events this one stands; 0: it is not looked at.
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
