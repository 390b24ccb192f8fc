#pragma once
// The interface of all engines that move file data: submit transfers, poll their completions.
//
//   make_buffered   pread/pwrite by the caller, as they are submitted; memory copies come from here
//   make_uring      io_uring: one system call submits a batch (ring.hpp)
//   make_pool       threads that call pread/pwrite: where io_uring is disabled
//   make_direct     make_uring where Linux lets it, else make_pool
//
// Engines for memory that the CPU cannot address: device_engines.hpp.
//
// The descriptor decides whether a transfer bypasses the page cache (O_DIRECT: direct_file.hpp).
//
// Threading: one owner an engine at a time; different engines are independent. The destructor waits
// for transfers in flight, so the memory may be freed afterwards. A child of fork() may only
// destroy its parent's engines.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "io/engine/transfer.hpp"

namespace k2k::io {

struct Capabilities {
  const char* name = "";              // "buffered", "uring", "pool", "staging", ...
  bool asynchronous = false;          // The caller may do other work during a transfer.
  std::uint32_t outstanding_max = 0;  // The limit of submitted transfers that were not polled yet.
  bool device_memory = false;         // Accepts memory that the CPU cannot address.
  // A write between two multiples of this in the file is one call of Linux; 0: every write is.
  std::size_t whole_write_bytes = 0;
};

class Engine {
 public:
  Engine() = default;
  virtual ~Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
  // Accepts transfers from the front while there is room, and returns their number. A transfer's
  // error is the result of its completion.
  virtual std::size_t submit(std::span<const Transfer> transfers) = 0;
  // Writes completions to the front of `into`, in any order, and returns their number. Waits until
  // there are at least `least` of them, or as many as are outstanding or fit. Signals do not end
  // the wait.
  virtual std::size_t poll(std::span<Completion> into, std::size_t least) = 0;
  [[nodiscard]] virtual std::size_t outstanding() const = 0;
};

// Errors: EINVAL, `outstanding` is 0 or above 4096, `threads` 0 or above 64. ENOSYS, EPERM, ENOMEM,
// ...: io_uring is not available. EAGAIN: no thread can be started.
Result<std::unique_ptr<Engine>> make_buffered(std::uint32_t outstanding);
Result<std::unique_ptr<Engine>> make_uring(std::uint32_t outstanding);
// With a ring of any operation: in tests Linux cancels its transfers.
Result<std::unique_ptr<Engine>> make_unrestricted_uring(std::uint32_t outstanding);
Result<std::unique_ptr<Engine>> make_pool(std::uint32_t outstanding, std::uint32_t threads);
Result<std::unique_ptr<Engine>> make_direct(std::uint32_t outstanding);

}  // namespace k2k::io
