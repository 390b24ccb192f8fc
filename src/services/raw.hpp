#pragma once
// The system call instruction, with Linux' own convention: a result or a negative errno.

// A slot carries the call's number on x86-64 (calls/rows.hpp), which pass_on() gives to Linux.
#if !defined(__x86_64__)
#error "K2K's services make system calls by their number on x86-64; build for x86-64"
#endif

#include <sys/syscall.h>

#include <cstdint>

#include "base/system_call.hpp"
#include "services/request.hpp"

namespace k2k::services {

template <class... Arguments>
inline std::int64_t raw(long number, Arguments... arguments) {
  return system_call(number, arguments...);
}

// The request as it stands.
inline std::int64_t pass_on(const Request& request) {
  const auto& word = request.arguments;
  return raw(request.number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

}  // namespace k2k::services
