// The device's half of the C ABI, include/k2k/k2k.h: called from inside a kernel.

#include <k2k/k2k.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/api.hpp"
#include "calls/host_call.hpp"
#include "device/k2k.hpp"
#include "services/functions/host_signature.hpp"

namespace k2k {
namespace {

template <class Scope>
long device_call(Scope scope, long number, const long (&a)[6]) {
  return syscall(scope, strong, number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// A host call whose signature is text. Without memory of the heap while it waits: a launch that is
// cancelled does not return to its work-items.
class TextCall {
 public:
  // 0, -EINVAL: a mistake in the signature, -ENOMEM.
  int describe(const char* signature) {
    try {
      const auto read = services::parse_host_signature(signature);
      if (!read) return -EINVAL;
      id_ = read.value().id;
      layout_ = read.value().layout;
      std::size_t index = 0;
      for (const services::HostParameter& parameter : read.value().parameters) {
        if (parameter.is_buffer) directions_[index++] = parameter.direction;
      }
      return 0;
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    }
  }
  // False: something that the signature has is null.
  [[nodiscard]] bool is_whole(const k2k_buffer* buffers, const void* values,
                              const void* reply) const {
    return (layout_.buffers == 0 || buffers != nullptr) &&
           (layout_.argument_bytes == 0 || values != nullptr) &&
           (layout_.reply_bytes == 0 || reply != nullptr);
  }
  long call(std::uint64_t function, const k2k_buffer* buffers, const void* values, void* reply) {
    fill(buffers, values);
    std::uint64_t words[3] = {reinterpret_cast<std::uint64_t>(&frame_[0]), layout_.frame_bytes(),
                              0};
    if (layout_.in_slot()) std::memcpy(words, frame_, sizeof(words));
    const long answer = device::call<calls::host_call_number>(
        work_item, strong, function, id_, words[0], words[1], words[2], layout_.shape());
    if (answer < 0 || layout_.reply_bytes == 0) return answer;
    const void* const from = layout_.replies_in_answer()
                                 ? static_cast<const void*>(&answer)
                                 : static_cast<const void*>(frame_ + layout_.reply_at());
    std::memcpy(reply, from, layout_.reply_bytes);
    return 0;
  }

 private:
  void fill(const k2k_buffer* buffers, const void* values) {
    for (std::size_t index = 0; index < layout_.buffers; ++index) {
      const std::uint64_t bytes =
          std::min<std::uint64_t>(buffers[index].bytes, calls::HostBuffer::bytes_max);
      const calls::HostBuffer buffer{reinterpret_cast<std::uint64_t>(buffers[index].data),
                                     bytes << 2 | static_cast<std::uint64_t>(directions_[index])};
      std::memcpy(frame_ + index * sizeof(buffer), &buffer, sizeof(buffer));
    }
    if (layout_.argument_bytes != 0) {
      std::memcpy(frame_ + layout_.arguments_at(), values, layout_.argument_bytes);
    }
  }

  std::uint64_t id_ = 0;
  calls::HostLayout layout_;
  calls::Direction directions_[calls::host_buffers_max] = {};
  alignas(8) std::byte frame_[calls::host_frame_bytes_max] = {};
};

}  // namespace
}  // namespace k2k

extern "C" {

K2K_API long k2k_dev_syscall(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  return k2k::device_call(k2k::work_item, number, {a0, a1, a2, a3, a4, a5});
}
K2K_API long k2k_dev_group_syscall(long number, long a0, long a1, long a2, long a3, long a4,
                                   long a5) {
  return k2k::device_call(k2k::work_group, number, {a0, a1, a2, a3, a4, a5});
}

K2K_API long k2k_dev_host_call(const char* name, const char* signature, const k2k_buffer* buffers,
                               const void* values, void* reply) {
  if (name == nullptr || signature == nullptr) return -EINVAL;
  k2k::TextCall call;
  if (const int refusal = call.describe(signature); refusal != 0) return refusal;
  if (!call.is_whole(buffers, values, reply)) return -EINVAL;
  return call.call(k2k::calls::host_id(name), buffers, values, reply);
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
