#pragma once
// An error of a laboratory as one line and an exit status: a wrong option is a wrong use.
//
// Threading: the main thread.

#include <fmt/format.h>

#include <cerrno>

#include "base/result.hpp"
#include "cli/command.hpp"

namespace k2k::labs {

inline int complain(const char* lab, const Error& error) {
  return cli::complain(fmt::format("lab {}: {}", lab, error.message),
                       error.code == EINVAL ? cli::exit_usage : cli::exit_failure);
}

}  // namespace k2k::labs
