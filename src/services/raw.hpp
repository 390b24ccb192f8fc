#pragma once
// The system call instruction, with the kernel's own convention: a result or a negative errno.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "services/request.hpp"

namespace k2k::services {

template <class... Arguments>
inline std::int64_t raw(long number, Arguments... arguments) {
  const long value = ::syscall(number, arguments...);
  return value == -1 ? -static_cast<std::int64_t>(errno) : value;
}

// The request as it stands.
inline std::int64_t pass_on(const Request& request) {
  const auto& word = request.arguments;
  return raw(request.number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

}  // namespace k2k::services
