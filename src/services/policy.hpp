#pragma once
// The calls that device code may make, and the calls that every policy refuses.
//
// On the cpu backend a kernel is native code in this process, so the policy guards against faults,
// not malice. On a GPU a kernel reaches the host by its slots alone, so the policy protects against
// malice, too (decision 12).

#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/backend.hpp"
#include "calls/rows.hpp"
#include "services/request.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {

enum class Openness : std::uint8_t { any, known_only };

// What the number of a call decides for all its requests, found once for equal numbers: the
// requests of a wave mostly make one call.
struct Admission {
  enum class Size : std::uint8_t {
    fixed,        // `bytes`.
    counted,      // As many as the argument `counted_by` says,
    counted_int,  // or as it says as an int: below 0, none.
    by_request,   // What reach_of() says.
  };
  // A pointer among the arguments.
  struct Pointer {
    std::uint8_t index = 0;
    std::uint8_t counted_by = 0;
    Size size = Size::fixed;
    std::uint16_t bytes = 0;
  };

  std::int64_t refusal = 0;  // Answers each request; 0: none.
  bool by_arguments = false;
  std::uint8_t count = 0;  // Of pointers; 0 also if the device hides no memory from the host.
  std::array<Pointer, calls::parameters_max> pointers{};
};
// `hides_memory`: DeviceInfo::hides_memory.
Admission admission_of(std::uint16_t number, std::int16_t row, Openness openness,
                       bool hides_memory);

// Whether admit() looks at the arguments of a call, whatever memory the host reaches.
constexpr bool arguments_decide(std::uint16_t number) {
  return calls::answers_an_address(number) || number == SYS_getrusage;
}

// 0, or the errno for a call that is open but for these arguments.
std::int64_t admit_arguments(const Request& request, const backend::Backend& backend);

// The reason why `number` is always refused, a sentence that begins with the call's name; nullptr
// if it is not.
const char* refusal_of(std::uint16_t number);

// Bytes the host would touch behind parameter `index`; 0 for none. Never follows a pointer: for a
// string, and for an extent that only the call knows, the answer is 1.
std::uint64_t reach_of(const calls::Shape& row, std::size_t index, const Request& request);
// As if the parameter were `extent`.
std::uint64_t reach_of(const calls::Shape& row, const calls::Extent& extent, std::size_t index,
                       const Request& request);
// The meaning of the parameter in this request: a command may decide it.
calls::Extent extent_of(const calls::Shape& row, std::size_t index, const Request& request);

// The first number beyond all system calls of Linux.
inline constexpr std::uint16_t call_number_end = 1024;

// Memory that the host cannot reach: 0 if the call takes it nevertheless, or -EFAULT.
std::int64_t admit_hidden(const Request& request, const void* memory, std::uint64_t bytes,
                          const router::Files& files);

inline std::uint64_t reach_of(const Admission::Pointer& pointer, const Request& request) {
  const std::uint64_t number = request.arguments[pointer.counted_by];
  switch (pointer.size) {
    case Admission::Size::fixed:
      return pointer.bytes;
    case Admission::Size::counted:
      return number;
    case Admission::Size::counted_int:
      return calls::number_in(calls::Kind::length, number);
    case Admission::Size::by_request:
      break;
  }
  return reach_of(calls::shapes[request.row], pointer.index, request);
}

// `admission`: of the request's call. 0 if the call may be executed, or the negative errno it is
// answered with:
//   -ENOSYS   no such call, or known_only and the call is not basic (calls/rows.hpp)
//   -EPERM    executed by a service thread it would end, replace or cripple the host process, or
//             answer for that thread (getrusage of RUSAGE_THREAD); calls/table.hpp has the reasons
//   -EFAULT   a pointer to memory the host cannot reach; but reads and writes take what is
//             registered (router/door/files.hpp)
//   -ENOTSUP  mmap, mremap or shmat for a device that does not reach the host's pages
inline std::int64_t admit(const Request& request, const Admission& admission,
                          const backend::Backend& backend, const router::Files& files) {
  if (admission.refusal != 0) [[unlikely]]
    return admission.refusal;
  if (admission.by_arguments) [[unlikely]] {
    if (const std::int64_t error = admit_arguments(request, backend); error != 0) return error;
  }
  for (std::size_t at = 0; at < admission.count; ++at) {
    const Admission::Pointer& pointer = admission.pointers[at];
    const auto* const memory = reinterpret_cast<const void*>(request.arguments[pointer.index]);
    const std::uint64_t bytes = reach_of(pointer, request);
    if (memory == nullptr || bytes == 0 || backend.host_may_access(memory, bytes)) continue;
    if (const std::int64_t error = admit_hidden(request, memory, bytes, files); error != 0) {
      return error;
    }
  }
  return 0;
}

}  // namespace k2k::services
