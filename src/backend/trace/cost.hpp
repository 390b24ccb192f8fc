#pragma once
// Converts CPU time to a system call: the number of random bytes that take so long on this machine,
// measured with direct calls. Random bytes are computed, not fetched, so such a read takes as long
// with cold caches as with warm ones.
//
// Threading: values; measured_reads() from anywhere.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace k2k::backend::trace {

// CPU time of a direct call that reads `bytes`.
struct ReadCost {
  std::uint64_t bytes;
  double time_us;
};

// The size for a time, interpolated linearly between the costs (sorted by size); the first or the
// last size for a time beyond theirs. Expects at least one cost.
std::uint64_t size_taking(double time_us, std::span<const ReadCost> costs);

inline constexpr std::uint64_t read_bytes_min = 64;

// Measures reads of powers of two from `file`, which is /dev/urandom, up to buffer.size() or the
// first size that takes longer than `longest_us`. Takes some 20 ms for 50 us. Errors: EIO, a read
// failed.
Result<std::vector<ReadCost>> measure_reads(int file, std::span<std::byte> buffer,
                                            double longest_us);

// The same up to 128 KiB or 60 us, measured once in this process, so that compared runs use the
// same sizes. A failure is not kept. From anywhere; concurrent calls wait for the first. Errors: as
// open(2) for /dev/urandom, with the path; EIO.
Result<std::vector<ReadCost>> measured_reads();

}  // namespace k2k::backend::trace
