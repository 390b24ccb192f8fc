#include "router/door/position.hpp"

namespace k2k::router {

namespace {

// One lock for files whose numbers fall together.
constexpr std::size_t locks_max = 64;
pthread_mutex_t locks[locks_max];  // All zero is PTHREAD_MUTEX_INITIALIZER.

}  // namespace

Position::Position(int descriptor, std::uint64_t device, std::uint64_t inode, Patience patience)
    : descriptor_(descriptor), lock_(&locks[(inode * 0x9e3779b97f4a7c15u ^ device) % locks_max]) {
  if (patience == Patience::endless) {
    ::pthread_mutex_lock(lock_);
  } else if (::pthread_mutex_trylock(lock_) != 0) {
    lock_ = nullptr;
  }
}

void positions_after_fork_child() {
  for (pthread_mutex_t& lock : locks) lock = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace k2k::router
