#include "control/inherited.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "base/own_descriptors.hpp"

namespace k2k::control {

namespace {

constexpr std::size_t descriptors_max = 256;
constexpr int none = -1;

// An element holds a descriptor + 1; 0: free, the value of static memory.
std::array<std::atomic<int>, descriptors_max> table;

void close_all() {
  for (std::atomic<int>& place : table) {
    const int descriptor = place.exchange(0) - 1;
    if (descriptor == none) continue;
    set_own(descriptor, false);
    ::close(descriptor);
  }
}

// When the library is loaded: a fork could find a later registration under way.
[[maybe_unused]] const int registered = ::pthread_atfork(nullptr, nullptr, close_all);

}  // namespace

void close_in_child(int descriptor) {
  for (std::atomic<int>& place : table) {
    int free = 0;
    if (place.compare_exchange_strong(free, descriptor + 1)) return;
  }
}

void keep_in_child(int descriptor) {
  for (std::atomic<int>& place : table) {
    int held = descriptor + 1;
    if (place.compare_exchange_strong(held, 0)) return;
  }
}

}  // namespace k2k::control
