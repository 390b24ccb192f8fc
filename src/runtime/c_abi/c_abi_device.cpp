// The device's half of the C ABI, include/k2k/k2k.h: called from inside a kernel.

#include <k2k/k2k.h>

#include "base/api.hpp"
#include "device/k2k.hpp"

namespace {

template <class Scope>
long device_call(Scope scope, long number, const long (&a)[6]) {
  return k2k::syscall(scope, k2k::strong, number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // namespace

extern "C" {

K2K_API long k2k_dev_syscall(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  return device_call(k2k::work_item, number, {a0, a1, a2, a3, a4, a5});
}
K2K_API long k2k_dev_group_syscall(long number, long a0, long a1, long a2, long a3, long a4,
                                   long a5) {
  return device_call(k2k::work_group, number, {a0, a1, a2, a3, a4, a5});
}

K2K_API uint32_t k2k_dev_group_rank(void) { return k2k::group_rank(); }
K2K_API uint32_t k2k_dev_group_count(void) { return k2k::group_count(); }
K2K_API uint32_t k2k_dev_item_rank(void) { return k2k::item_rank(); }
K2K_API uint32_t k2k_dev_group_size(void) { return k2k::group_size(); }
K2K_API uint64_t k2k_dev_global_rank(void) { return k2k::global_rank(); }
K2K_API uint64_t k2k_dev_global_size(void) { return k2k::global_size(); }
K2K_API void k2k_dev_barrier(void) { k2k::barrier(); }
K2K_API void k2k_dev_yield(void) { k2k::yield(); }

}  // extern "C"
