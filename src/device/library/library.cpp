// The device library, k2k_device.ptx: K2K's functions for kernels that no C++ compiler makes, such
// as Numba's, as C functions to link with. Compiled by nvcc as relocatable PTX (CMakeLists.txt).
//
// Every work-item of the group calls k2k_dev_begin() first. k2k_dev_NAME is the call by one
// work-item, k2k_dev_group_NAME that of the work-group: item 0 makes it between two barriers, with
// its own arguments, and every work-item gets the answer. Answers are those of Linux: 0 or more, or
// a negative errno. Buffers may lie in any memory (device/transfer.hpp).

#include "calls/print.hpp"
#include "device/foreign.hpp"

namespace {

using Word = std::uint64_t;

// The most values of one print: its frame is copied through the arena, together with the texts.
constexpr std::size_t print_values_max = 32;

// The frame of a print is filled at run time, because its types come from another compiler.
// `values` holds two words for each value: its PrintType and its bits; for a text its address and,
// in `sizes`, its bytes.
template <class Scope>
K2K_DEVICE long print_values(Scope scope, int descriptor, const char* format, Word format_bytes,
                             const k2k::calls::PrintValue* values, const Word* sizes,
                             unsigned count) {
  using k2k::calls::PrintType;
  if (count > print_values_max) return -k2k::error::invalid;
  alignas(8) std::byte frame[(print_values_max + 1) * sizeof(k2k::calls::HostBuffer) +
                             print_values_max * sizeof(k2k::calls::PrintValue)];
  k2k::calls::HostLayout layout;
  layout.buffers = 1;
  layout.argument_bytes = count * sizeof(k2k::calls::PrintValue);
  for (unsigned at = 0; at < count; ++at) {
    layout.buffers += values[at].type == static_cast<Word>(PrintType::text) ? 1 : 0;
  }
  k2k::device::FrameFiller filler(frame, layout.arguments_at());
  filler.add(k2k::In<char>{{format, format_bytes}});
  for (unsigned at = 0; at < count; ++at) {
    k2k::calls::PrintValue value = values[at];
    if (value.type == static_cast<Word>(PrintType::text)) {
      filler.add(k2k::In<char>{{reinterpret_cast<const char*>(value.bits), sizes[at]}});
      value.bits = 0;
    }
    filler.add(value);
  }
  return k2k::device::call<k2k::calls::host_call_number>(
      scope, k2k::strong, k2k::calls::host_id(k2k::calls::print_name), descriptor, &frame[0],
      layout.frame_bytes(), 0, layout.shape());
}

}  // namespace

extern "C" {

K2K_DEVICE void k2k_dev_begin(Word context) { k2k::begin(context); }
K2K_DEVICE void k2k_dev_barrier() { k2k::barrier(); }
K2K_DEVICE void k2k_dev_yield() { k2k::yield(); }

// One function for each scope.
#define K2K_BOTH_SCOPES(name, parameters, ...)                                                 \
  K2K_DEVICE long k2k_dev_##name parameters { return k2k::name(k2k::work_item, __VA_ARGS__); } \
  K2K_DEVICE long k2k_dev_group_##name parameters {                                            \
    return k2k::name(k2k::work_group, __VA_ARGS__);                                            \
  }

K2K_BOTH_SCOPES(open, (const char* path, int flags, unsigned mode), path, flags, mode)
K2K_BOTH_SCOPES(close, (int descriptor), descriptor)
K2K_BOTH_SCOPES(read, (int descriptor, void* buffer, Word bytes), descriptor, buffer, bytes)
K2K_BOTH_SCOPES(write, (int descriptor, const void* buffer, Word bytes), descriptor, buffer, bytes)
K2K_BOTH_SCOPES(pread, (int descriptor, void* buffer, Word bytes, long offset), descriptor, buffer,
                bytes, offset)
K2K_BOTH_SCOPES(pwrite, (int descriptor, const void* buffer, Word bytes, long offset), descriptor,
                buffer, bytes, offset)
K2K_BOTH_SCOPES(socket, (int domain, int type, int protocol), domain, type, protocol)
K2K_BOTH_SCOPES(sendto,
                (int descriptor, const void* buffer, Word bytes, int flags, const void* address,
                 unsigned address_bytes),
                descriptor, buffer, bytes, flags, address, address_bytes)

// Any call by its number; pointers must be host-visible.
K2K_DEVICE long k2k_dev_syscall(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  return k2k::syscall(k2k::work_item, k2k::strong, number, a0, a1, a2, a3, a4, a5);
}
K2K_DEVICE long k2k_dev_group_syscall(long number, long a0, long a1, long a2, long a3, long a4,
                                      long a5) {
  return k2k::syscall(k2k::work_group, k2k::strong, number, a0, a1, a2, a3, a4, a5);
}

// Text by the format of k2k::print(); at most 32 values, else -EINVAL.
K2K_DEVICE long k2k_dev_print(int descriptor, const char* format, Word format_bytes,
                              const k2k::calls::PrintValue* values, const Word* sizes,
                              unsigned count) {
  return print_values(k2k::work_item, descriptor, format, format_bytes, values, sizes, count);
}
K2K_DEVICE long k2k_dev_group_print(int descriptor, const char* format, Word format_bytes,
                                    const k2k::calls::PrintValue* values, const Word* sizes,
                                    unsigned count) {
  return print_values(k2k::work_group, descriptor, format, format_bytes, values, sizes, count);
}

}  // extern "C"
