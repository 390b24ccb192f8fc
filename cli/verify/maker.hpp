#pragma once
// The makers of a compared call: a thread of the host, and kernels with the arguments in each kind
// of memory.
//
// Threading: one thread. Errors of the runtime throw std::runtime_error.

#include <cstdint>
#include <memory>
#include <string>

#include "cli/verify/image.hpp"
#include "k2k/runtime.hpp"

namespace k2k::cli::verify {

// Where a kernel has the bytes of an image. On a strict device the host cannot address the first
// three.
enum class Place : std::uint8_t { stack, local, device, shared };

const char* name_of(Place place);

// Makes the call and gives Linux' answer: a result or a negative errno. The image's bytes are those
// after the call.
std::int64_t call_from_thread(std::uint16_t number, Image& image);

class Kernels {
 public:
  // Not strict: the host can address all memory of the device.
  explicit Kernels(bool strict);

  // By the typed wrapper, if the call has a row; otherwise by its number.
  std::int64_t call(std::uint16_t number, Image& image, Place place);

 private:
  struct Free {
    Runtime* runtime;
    bool shared;
    void operator()(void* memory) const;
  };
  using Memory = std::unique_ptr<void, Free>;

  Memory take(bool shared);

  Runtime runtime_;
  Memory device_;
  Memory shared_;
};

}  // namespace k2k::cli::verify
