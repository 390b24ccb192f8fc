#pragma once
// The calls of a GPU's driver that its backend makes, for one device: cuda/ makes them by CUDA's
// driver, hip/ by HIP's runtime.
//
// A call answers the vendor's code. `call` turns a failure into an Error with the vendor's text.
//
// Threading: any thread; calls on memory, streams and kernels while the device is current
// (Current).

#include <cstddef>
#include <string>

#include "backend/kernel_image.hpp"
#include "backend/launch.hpp"
#include "base/result.hpp"

namespace k2k::backend::gpu {

// CUDA and HIP use the same numbers for these.
using Code = int;
inline constexpr Code success = 0;
inline constexpr Code out_of_memory = 2;
inline constexpr Code not_ready = 600;

using Stream = void*;
using Function = void*;  // A loaded kernel.

// "NAME (text)" of a vendor's code; each of the two may be null.
std::string words_of(Code code, const char* name, const char* text);
// `what` completes "could not ...". Code: ENOMEM for memory, else EIO.
Status status_of(Code code, const char* driver, const std::string& what, const std::string& words);
// ENODEV: why none of the vendor's devices can be used, and the remedy besides backend = "cpu".
Error no_device(const char* vendor, const std::string& why, const std::string& remedy);

// The vendor's words in messages.
struct Names {
  const char* driver;    // "the CUDA driver"
  const char* compiler;  // The compiler of kernels.
  const char* checker;   // Completes "start the process again, ...".
};

class Driver {
 public:
  Driver() = default;
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  [[nodiscard]] virtual const Names& names() const = 0;
  // Name and text of a code.
  [[nodiscard]] virtual std::string words(Code code) const = 0;

  // Makes the device current in the calling thread. leave() takes `before` and restores the device
  // that was current.
  virtual Code enter(int& before) const = 0;
  virtual void leave(int before) const = 0;
  // Waits for all work of the device.
  [[nodiscard]] virtual Code synchronize() const = 0;

  [[nodiscard]] virtual Code allocate(void** memory, std::size_t bytes) const = 0;
  virtual void free(void* memory) const = 0;
  // Host memory at one address for host and device. The device's stores there are visible to a
  // running host, and the host's stores to a running kernel. Cached by the host, which reads it all
  // the time.
  [[nodiscard]] virtual Code pin(void** memory, std::size_t bytes) const = 0;
  virtual void unpin(void* memory) const = 0;
  // Memory that host and device use by turns or together, page by page; free() returns it. Expects
  // DeviceInfo::faults_on_managed.
  [[nodiscard]] virtual Code allocate_managed(void** memory, std::size_t bytes) const = 0;

  // A stream that does not wait for the default stream.
  [[nodiscard]] virtual Code create_stream(Stream* stream) const = 0;
  virtual void destroy_stream(Stream stream) const = 0;
  // `not_ready` while it has work.
  [[nodiscard]] virtual Code query(Stream stream) const = 0;
  // These three in stream order.
  [[nodiscard]] virtual Code zero(void* memory, std::size_t bytes, Stream stream) const = 0;
  [[nodiscard]] virtual Code copy(void* to, const void* from, std::size_t bytes,
                                  Stream stream) const = 0;
  // Reads the parameters at once.
  [[nodiscard]] virtual Code launch(Function function, const LaunchShape& shape, void** parameters,
                                    Stream stream) const = 0;

  // The kernel on this device; loads it if it is not loaded. `device` names the device in messages.
  // Errors: EIO, ENOMEM.
  [[nodiscard]] virtual Result<Function> load(const DeviceKernel& kernel,
                                              const std::string& device) const = 0;

  // status_of() with this driver's words.
  [[nodiscard]] Status call(Code code, const std::string& what) const;
};

// Makes the device current in the calling thread during this object's life.
class Current {
 public:
  explicit Current(const Driver& driver) : driver_(driver) {
    entered_ = driver_.enter(before_) == success;
  }
  ~Current() {
    if (entered_) driver_.leave(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver& driver_;
  int before_ = 0;
  bool entered_ = false;
};

}  // namespace k2k::backend::gpu
