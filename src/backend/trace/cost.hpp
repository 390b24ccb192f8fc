#pragma once
// CPU time as a system call: how many random bytes take so long here, measured with direct calls.
// Random bytes are computed, not fetched: such a read takes as long with caches gone cold as
// without.
//
// Threading: values; measured_reads() from anywhere.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace k2k::backend::trace {

// CPU time of a direct call that reads so much.
struct ReadCost {
  std::uint64_t bytes;
  double time_us;
};

// The size that takes so long, on straight lines between the costs (by size); the first or the last
// size for a time beyond theirs. Expects at least one cost.
std::uint64_t size_taking(double time_us, std::span<const ReadCost> costs);

inline constexpr std::uint64_t read_bytes_min = 64;

// Reads of powers of two from `file`, which is /dev/urandom, up to buffer.size() or the first that
// takes longer than `longest_us`. They take some 20 ms for 50 us. Errors: EIO, a read that fails.
Result<std::vector<ReadCost>> measure_reads(int file, std::span<std::byte> buffer,
                                            double longest_us);

// The same up to 128 KiB or 60 us, measured once in this process: what is compared asks for the
// same sizes. A failure is not kept. From anywhere; others wait for the first call. Errors: those
// of open(2) for /dev/urandom, the path named; EIO.
Result<std::vector<ReadCost>> measured_reads();

}  // namespace k2k::backend::trace
