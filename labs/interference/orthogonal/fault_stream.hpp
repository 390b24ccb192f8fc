#pragma once
// ubench without an end: 64 work-items fault repeatedly and halt until each page is filled, so that
// 64 requests are always outstanding.
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
  ~FaultStream();
  FaultStream(const FaultStream&) = delete;
  FaultStream& operator=(const FaultStream&) = delete;

  // The runtime must outlive this object. Errors: EAGAIN, no thread.
  Status start(Runtime& runtime);
  // Lets each work-item finish its fault, and waits. Errors: as DemandRegion and Runtime::launch();
  // EIO if a page did not hold zeros.
  Status stop();
  // True if the stream ended without stop(): something failed, and stop() returns the reason.
  [[nodiscard]] bool ended() const;

 private:
  Status run(Runtime& runtime);

  std::thread thread_;
  Status result_;  // Written before ended_ is released, read after it is acquired.
  std::uint32_t stop_ = 0;
  std::uint32_t ended_ = 0;
};

}  // namespace k2k::labs::orthogonal
