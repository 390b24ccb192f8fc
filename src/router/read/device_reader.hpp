#pragma once
// FileReader (file_reader.hpp) for one device's memory that the CPU cannot address, with the
// answers that the kernel would give if it could: count, errors, end of file.
//
//   cached pieces, unaligned heads and tails   by DevicePaths' engine for the page cache
//   direct pieces                              by its direct engine
//   a write, and whole()                       one call of the kernel, through memory of the host
//
// A read takes FileReader's steps (read_steps.hpp), by a model of its own: one of the device, the
// file system and these engines. What the kernel would not ask of a device is told as it says: an
// address that the device refuses is EFAULT, a lack of pinned memory ENOMEM.
//
// A write takes as much host memory as it is long, for as long as it takes: it must be one call.
//
// Threading: any thread. Each request in progress has a channel: engines, pinned buffers, scratch.
// In a child of fork(), after after_fork_child(), requests are answered with EFAULT: the device is
// the parent's. There it must not be destroyed.

#include <sys/uio.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "router/read/device_paths.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::router {

struct DeviceReaderConfig {
  // Of the files' device, where model_of does not know better.
  Model model = ReaderConfig().model;
  // Asked once a device: what is known of the device behind a descriptor, by the engine of that
  // name (DevicePaths::name()).
  std::function<std::optional<Model>(int descriptor, const std::string& engine)> model_of{};
  DevicePathsConfig paths{};
  // Channels that stay when their requests have ended: each pins buffers + 5 times buffer_bytes.
  // 1 to 256. Requests that find none make one.
  std::uint32_t channels_kept = 4;
  // All of them are made at once and no more: others wait for one. For devices that pin no memory
  // while a kernel runs that waits for its requests.
  bool channels_fixed = false;
  std::uint32_t unprobed_bytes = 4096;          // As ReaderConfig's.
  std::uint32_t read_ahead_bytes = 512 * 1024;  // Likewise.
  std::uint32_t grain_pages = 8;                // Likewise.
};

// A call for memory of which parts are the device's.
struct WholeCall {
  int descriptor = -1;
  std::span<const iovec> pieces;    // At most IOV_MAX.
  std::span<const bool> is_device;  // One a piece; the others are the host's.
  bool write = false;
  std::optional<std::int64_t> offset{};  // Nothing: the descriptor's own position.
  int flags = 0;                         // RWF_ of preadv2(2)
};

class DeviceReader : public FileReader {
 public:
  // EINVAL: the model's (costs_of()), or a number out of the range above. Else as
  // DevicePaths::create(), and as its engines say that cannot be made here.
  static Result<std::unique_ptr<DeviceReader>> create(std::shared_ptr<io::DeviceMemory> memory,
                                                      const DeviceReaderConfig& config);

  // One preadv2(2) or pwritev2(2) through memory of the host: the count, or a negative errno. Of a
  // descriptor of any kind; what a read took from a pipe is lost where the device then refuses it.
  virtual ssize_t whole(const WholeCall& call) = 0;
};

}  // namespace k2k::router
