#pragma once
// siginfo_t of rt_sigqueueinfo(2) on 64-bit Linux, for compilers that lack the host's headers.

#include <cstdint>

namespace k2k {

struct QueuedSignal {
  std::int32_t number;
  std::int32_t error;
  std::int32_t code;
  std::int32_t pad;
  std::int32_t process;
  std::int32_t user;
  std::uint64_t value;
  std::uint64_t rest[12];
};
static_assert(sizeof(QueuedSignal) == 128);

}  // namespace k2k
