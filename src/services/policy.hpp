#pragma once
// The calls that device code may make, and the calls that every policy refuses.
//
// On the cpu backend a kernel is native code in this process, so the policy guards against faults,
// not malice. On a GPU a kernel reaches the host by its slots alone, so the policy protects against
// malice, too (decision 12).

#include <sys/syscall.h>

#include <cstdint>

#include "backend/backend.hpp"
#include "calls/rows.hpp"
#include "services/request.hpp"

namespace k2k::router {
class Files;
}

namespace k2k::services {

enum class Openness : std::uint8_t { any, known_only };

// 0 if the call may be executed, or the negative errno it is answered with:
//   -ENOSYS   no such call, or known_only and the call is not basic (calls/rows.hpp)
//   -EPERM    executed by a service thread it would end, replace or cripple the host process, or
//             answer for that thread (getrusage of RUSAGE_THREAD); calls/table.hpp has the reasons
//   -EFAULT   a pointer to memory the host cannot reach; but reads and writes take what is
//             registered (router/door/files.hpp)
//   -ENOTSUP  mmap, mremap or shmat for a device that does not reach the host's pages
std::int64_t admit(const Request& request, Openness openness, const backend::Backend& backend,
                   const router::Files& files);

// Whether the answer is an address, which the device may not be able to follow.
constexpr bool answers_an_address(std::uint16_t number) {
  return number == SYS_mmap || number == SYS_mremap || number == SYS_shmat;
}
// Whether admit() looks at the arguments of a call, whatever memory the host reaches.
constexpr bool arguments_decide(std::uint16_t number) {
  return answers_an_address(number) || number == SYS_getrusage;
}

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

}  // namespace k2k::services
