#pragma once
// A function of the host program as it is registered: name, signature, and a body without types.
//
// include/k2k/runtime.hpp makes one of a C++ callable, the C interface of a C function.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace k2k {

// How a host function is run.
enum class HostClass : std::uint8_t {
  // May wait, and may take long: runs on a thread of its own, on copies of its buffers. A launch
  // that ends early does not wait for it; its results are dropped then.
  may_block,
  // Is short and waits for nothing: runs at once on the thread that found the request, on the
  // buffers themselves. Every launch waits for it.
  never_blocks,
};

}  // namespace k2k

namespace k2k::services {

// A buffer, for the function.
struct HostSpan {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// One call, for the function.
struct HostArguments {
  const HostSpan* buffers = nullptr;  // In the order of the signature.
  const std::byte* values = nullptr;  // Each at a whole word of 8 bytes.
  std::byte* reply = nullptr;
};

struct HostFunction {
  std::string name;
  std::string signature;
  HostClass host_class = HostClass::may_block;
  // 0, or a negative errno.
  std::function<std::int64_t(const HostArguments&)> body;
};

}  // namespace k2k::services
