#pragma once
// Device code of `signals`: a work-item reads a value and sends it with a queued signal. C++17, any
// device.

#include <cstdint>

#include "device/k2k.hpp"
#include "device/queued_signal.hpp"

namespace k2k::labs::generators {

struct SignalsKernel {
  static constexpr std::int32_t queued = -1;  // SI_QUEUE
  static constexpr long again = -11;          // -EAGAIN: the user's limit of pending signals is
                                              // reached.

  const std::uint64_t* values;
  std::int32_t* answers;
  std::uint64_t count;
  std::int32_t process;
  std::int32_t number;
  std::uint32_t tries;  // Per signal, while too many are pending.

  K2K_DEVICE void operator()() const {
    for (std::uint64_t place = k2k::global_rank(); place < count; place += k2k::global_size()) {
      answers[place] = static_cast<std::int32_t>(send(values[place]));
      if (answers[place] == again)
        return;  // No thread takes the signals; the rest would wait as
                 // long.
    }
  }

 private:
  K2K_DEVICE long send(std::uint64_t value) const {
    QueuedSignal signal{};
    signal.number = number;
    signal.code = queued;
    signal.process = process;
    signal.value = value;
    long answer = again;
    for (std::uint32_t left = tries; answer == again && left != 0; --left) {
      answer = k2k::rt_sigqueueinfo(k2k::work_item, k2k::halting, process, number, &signal);
      if (answer == again) k2k::yield();
    }
    return answer;
  }
};

}  // namespace k2k::labs::generators
