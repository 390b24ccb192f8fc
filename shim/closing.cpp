#include "shim/closing.hpp"

#include <fcntl.h>

#include <cerrno>
#include <climits>

#include "shim/descriptors.hpp"
#include "shim/open_numbers.hpp"
#include "shim/real.hpp"
#include "shim/router_library.hpp"

namespace k2k::shim {
namespace {

// The router library's lowest descriptor from `first` on; INT_MAX if there is none.
int next_of_router_library(int first, int last) {
  int lowest = INT_MAX;
  any_open_number(first, last, [&](int number) {
    if (number < lowest && is_of_router_library(number)) lowest = number;
    return false;
  });
  return lowest;
}

}  // namespace

bool may_close(int descriptor, const void* caller) {
  if (in_router_library(caller)) return true;
  if (is_of_router_library(descriptor)) return errno = EBADF, false;
  before_close(descriptor, descriptor);
  return true;
}

int close_ours(unsigned first, unsigned last) {
  if (first > last) return real.close_range(first, last, 0);  // EINVAL
  const int end = last > INT_MAX ? INT_MAX : static_cast<int>(last);
  int at = first > INT_MAX ? INT_MAX : static_cast<int>(first);
  before_close(at, end);
  while (at <= end) {
    const int spared = next_of_router_library(at, end);
    if (spared == INT_MAX) return real.close_range(static_cast<unsigned>(at), last, 0);
    if (spared > at) {
      real.close_range(static_cast<unsigned>(at), static_cast<unsigned>(spared) - 1, 0);
    }
    at = spared + 1;
  }
  return 0;
}

bool may_replace(int from, int to, const void* caller) {
  if (in_router_library(caller) || from == to || real.fcntl(from, F_GETFD) < 0) return true;
  // A move of the twin would drop locks. Linux has this error, too.
  if (is_of_router_library(to)) return errno = EBUSY, false;
  before_close(to, to);
  return true;
}

}  // namespace k2k::shim
