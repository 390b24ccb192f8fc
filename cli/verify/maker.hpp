#pragma once
// The makers of a compared call: a thread of the host, and kernels with the arguments in each kind
// of memory.
//
// Threading: one thread. Errors of the runtime throw std::runtime_error.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cli/verify/image.hpp"
#include "cli/verify/kernel_call.hpp"
#include "k2k/runtime.hpp"

namespace k2k::cli::verify {

const char* name_of(Place place);

// Makes the call and gives Linux' answer: a result or a negative errno. The image's bytes are those
// after the call.
std::int64_t call_from_thread(std::uint16_t number, Image& image);

enum class Maker : std::uint8_t {
  strict_device,  // Of the cpu backend. The host cannot address the device's own memory.
  open_device,    // The host can.
  gpu,
};

class Kernels {
 public:
  // Errors: a GPU in a program without kernels for GPUs, or without a GPU that the runtime can use.
  explicit Kernels(Maker maker);

  // True if the kernel has the typed wrapper of this call.
  [[nodiscard]] bool wrap(std::uint16_t number) const;
  // By the typed wrapper, if the kernel has it; otherwise by its number, and nothing is copied.
  std::int64_t call(std::uint16_t number, Image& image, Place place);

  [[nodiscard]] std::string device_name() const { return runtime_.device().name; }
  [[nodiscard]] bool reach_host_pages() const { return runtime_.device().reaches_host_pages; }

 private:
  struct Free {
    Runtime* runtime;
    bool shared;
    void operator()(void* memory) const;
  };
  using Memory = std::unique_ptr<void, Free>;

  Memory take(bool shared, std::size_t bytes);

  Maker maker_;
  Runtime runtime_;
  Memory device_;
  Memory shared_;
  Memory call_;  // Of a CallData.
};

}  // namespace k2k::cli::verify
