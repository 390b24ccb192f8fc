#pragma once
// ubench without an end: 64 work-items that each fault, halt until the page is there, and fault
// again, so that 64 requests are outstanding whatever the server does.
//
// Threading: work-items run on a thread of this file; a stream is used by one thread.

#include <cstdint>
#include <thread>

#include "base/result.hpp"
#include "k2k/runtime.hpp"

namespace k2k::labs::orthogonal {

class FaultStream {
 public:
  FaultStream() = default;
  ~FaultStream();  // Stops it.
  FaultStream(const FaultStream&) = delete;
  FaultStream& operator=(const FaultStream&) = delete;

  // The runtime outlives this. Errors: EAGAIN, no thread.
  Status start(Runtime& runtime);
  // Lets each work-item finish its fault, and waits. Errors: those of DemandRegion and of
  // Runtime::launch(); EIO, a page did not hold zeros.
  Status stop();
  // It ended by itself: something is wrong, and stop() says what.
  [[nodiscard]] bool ended() const;

 private:
  Status run(Runtime& runtime);

  std::thread thread_;
  Status result_;  // Written before ended_ is released, read after it is acquired.
  std::uint32_t stop_ = 0;
  std::uint32_t ended_ = 0;
};

}  // namespace k2k::labs::orthogonal
