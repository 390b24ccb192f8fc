#include "apps/signal_search/direct.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace k2k::signal_search {

long queue_signal(std::int32_t process, std::int32_t number, const QueuedSignal& signal) {
  return ::syscall(SYS_rt_sigqueueinfo, process, number, &signal) == 0 ? 0 : -errno;
}

}  // namespace k2k::signal_search
