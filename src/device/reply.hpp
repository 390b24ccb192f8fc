#pragma once
// The answer of a call: Linux' result and, separately, whether the request reached Linux.

#include <cstdint>

#include "base/attributes.hpp"
#include "protocol/slot.hpp"

namespace k2k {

// Errors that K2K itself returns, with Linux' numbers on every host.
namespace error {
inline constexpr int no_such_call = 38;   // ENOSYS     the policy refuses the call, or it does not
                                          // exist
inline constexpr int again = 11;          // EAGAIN     internal: no arena block is free
inline constexpr int bad_address = 14;    // EFAULT     the host cannot address the pointer
inline constexpr int name_too_long = 36;  // ENAMETOOLONG
inline constexpr int already = 114;       // EALREADY   kernel site used twice
inline constexpr int in_progress = 115;   // EINPROGRESS  another lane made the call; no wait
inline constexpr int message_size = 90;   // EMSGSIZE  a datagram larger than an arena block
inline constexpr int invalid = 22;        // EINVAL     a ticket redeemed twice, a site above 63
inline constexpr int timed_out = 110;     // ETIMEDOUT  transport: deadline passed
inline constexpr int cancelled = 125;     // ECANCELED  transport: the runtime shut down
}  // namespace error

// `value` is the result of the system call: >= 0, or a negative errno. It converts to long, so
// `long n = k2k::read(...)` has the same form as on a CPU.
//
//   -EINPROGRESS  another lane made the call, and relaxed order let this lane continue
//   -ECANCELED    transport() == shutdown: the runtime ended before the call was served
//   -ETIMEDOUT    transport() == deadline
class Reply {
 public:
  Reply() = default;
  K2K_HD constexpr explicit Reply(
      std::int64_t value, protocol::TransportError transport = protocol::TransportError::none)
      : value_(value), transport_(transport) {}

  K2K_HD static constexpr Reply pending() { return Reply(-error::in_progress); }

  K2K_HD constexpr operator long() const { return static_cast<long>(value_); }
  [[nodiscard]] K2K_HD constexpr std::int64_t value() const { return value_; }
  [[nodiscard]] K2K_HD constexpr bool ok() const { return value_ >= 0; }
  // The descriptor an open returned, or a negative errno.
  [[nodiscard]] K2K_HD constexpr int fd() const { return static_cast<int>(value_); }
  // The address an mmap returned; meaningful if ok().
  [[nodiscard]] K2K_HD void* address() const { return reinterpret_cast<void*>(value_); }
  // 0, or the errno.
  [[nodiscard]] K2K_HD constexpr int error() const {
    return value_ < 0 && value_ >= -4095 ? static_cast<int>(-value_) : 0;
  }
  [[nodiscard]] K2K_HD constexpr protocol::TransportError transport() const { return transport_; }

 private:
  std::int64_t value_ = 0;
  protocol::TransportError transport_ = protocol::TransportError::none;
};

}  // namespace k2k
