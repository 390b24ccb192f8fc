#pragma once
// The signals of block_search.hpp by libc, on the thread that runs the kernel. The cpu backend
// alone.
//
// Threading: device code on the host's cores; queue_signal(), in direct.cpp, is a plain function.

#include "apps/signal_search/block_search.hpp"

namespace k2k::signal_search {

// rt_sigqueueinfo(2): 0 or a negative errno.
long queue_signal(std::int32_t process, std::int32_t number, const QueuedSignal& signal);

struct Direct {
  static void send(const Job& job, const QueuedSignal& signal) {
    k2k::barrier();
    if (k2k::item_rank() == 0) queue_signal(job.process, job.number, signal);
  }
  static long send_and_wait(const Job& job, const QueuedSignal& signal) {
    return queue_signal(job.process, job.number, signal);
  }
};

}  // namespace k2k::signal_search
