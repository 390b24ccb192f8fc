#pragma once
// The cost model of both paths for a piece of a file to the device.
//
//   T_direct(s) = C + max(0, s - S) / BW_direct      one transfer from storage to the device
//   T_cache(s)  = s / BW_cache                       pages of the page cache, copied by the CPU
//
//   s            bytes of one transfer, a whole number of 4 KiB pages; both times of 0 are 0
//   C            time of any direct transfer up to S               call_us        microseconds
//   S            from this size on the device is saturated         cutoff_bytes   bytes
//   BW_direct    of one saturated device                           direct_gbs     10^9 bytes/s
//   BW_cache     of the copy from the page cache to the device     cache_gbs      10^9 bytes/s
//
// Source: SPIN (USENIX ATC'17), section 4.3.1, equation 1. It fitted C = 584 us and S = 512 KiB for
// an Intel P3700, with an error of 1.6 % over whole requests. One Model belongs to one device, file
// system and I/O engine.
//
// Decisions use whole ticks, so that equal times compare equal: the sum of two paths does not
// depend on the order of addition. Times for display are computed from the Model itself.
//
// Threading: pure functions.

#include <algorithm>
#include <cstdint>

#include "base/result.hpp"

namespace k2k::router {

inline constexpr std::uint32_t page_bytes = 4096;
inline constexpr std::uint32_t pages_max = 1u << 19;  // 2 GiB: Linux moves at most this much per
                                                      // call.
inline constexpr double bytes_a_us = 1000;            // Of one GB/s.

struct Model {
  double call_us = 584;
  double cutoff_bytes = 512 * 1024;
  double direct_gbs = 2.65;
  double cache_gbs = 10.1;
  // The additional time of a request's second and each further transfer, in flight with the others,
  // beyond the time of its bytes; at most C. 0: not measured; transfers are assumed to follow one
  // another, C each.
  double next_us = 0;

  bool operator==(const Model&) const = default;
};

// Microseconds. Expect a model that costs_of() accepts.
double direct_us(const Model& model, std::uint32_t pages);
double cache_us(const Model& model, std::uint32_t pages);

// The longest request, in bytes, that a stream gets earlier from the page cache with read-ahead
// (the disk's time at full bandwidth plus a tenth, or the copy's) than by a direct transfer.
double streamed_bytes_max(const Model& model);

// The effective Model::next_us: at most C - S / BW_direct, so that transfers together never take
// longer than one after the other. 0 if that is negative.
double next_us_of(const Model& model);

// Sixteenths of a picosecond. The limits of costs_of() keep every sum of a request's times,
// weighted by up to sixteen, below 2^62.
using Ticks = std::int64_t;
inline constexpr Ticks ticks_a_us = 16'000'000;

// The model as the schedules use it: T_direct = call + max(0, pages × direct_page - cutoff).
struct Costs {
  Ticks call = 0;
  Ticks cutoff = 0;  // S / BW_direct
  Ticks direct_page = 0;
  Ticks cache_page = 0;
  Ticks next = 0;  // 0: the transfers of a request follow one another.

  // One transfer's costs while all are in flight together.
  [[nodiscard]] Costs together() const {
    return next == 0 ? *this : Costs{next, 0, direct_page, cache_page};
  }
  [[nodiscard]] Ticks direct(std::uint32_t pages) const {
    return pages == 0 ? 0 : call + std::max<Ticks>(0, pages * direct_page - cutoff);
  }
  [[nodiscard]] Ticks cache(std::uint32_t pages) const { return pages * cache_page; }
};

// Errors: EINVAL, a number outside its limits; the message names both.
Result<Costs> costs_of(const Model& model);

// A cached run between uncached pages pays only if it is longer than this many pages, whatever
// surrounds it: read from the cache, it saves at most the difference for its length plus S, and
// costs another C. At most pages_max, which means "never". Derivation: docs/design/router.md.
std::uint32_t never_from_cache(const Costs& costs);

}  // namespace k2k::router
