#include "sample.h"

#define KERNEL __attribute__((nvptx_kernel))
#define GLOBAL __attribute__((address_space(1)))
// NVPTX has no calling convention for kernels in C but this attribute.

static int lane(void) {
  return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
         __nvvm_read_ptx_sreg_tid_x();
}

__attribute__((noinline)) static struct Pair far_pair(unsigned value) { return sample_pair(value); }

KERNEL void sample(GLOBAL unsigned long long* words, unsigned long long seed) {
  const int at = lane();
  const unsigned value = (unsigned)seed + (unsigned)at * 2654435761u;
  const struct Pair pair = far_pair(value);
  union {
    double real;
    unsigned long long bits;
  } real;
  real.real = sample_real((double)pair.second, at % 50);
  GLOBAL unsigned long long* own = words + at * 6;
  own[0] = sample_steps(value | 1);
  own[1] = pair.first;
  own[2] = (unsigned long long)(long long)(pair.second + pair.tail);
  own[3] = real.bits;
  own[4] = sample_choice(value);
  own[5] = sample_sort(value);
}
