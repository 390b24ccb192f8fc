#pragma once
// The driver that serves a device's page faults (section 4.2.2). The IOMMU queues page requests and
// interrupts the CPU. The driver takes the requests that are there, a batch, and serves them one
// after another; requests that come meanwhile are the next batch.
//
// Threading: confined to one thread.

#include <algorithm>
#include <cstdint>

#include "base/contract.hpp"
#include "labs/translation/simulated/thesis.hpp"

namespace k2k::labs::translation {

class FaultDesk {
 public:
  // Of at most this many requests a batch. Expects one at least.
  explicit FaultDesk(std::uint32_t batch) : batch_(batch) { K2K_EXPECT(batch > 0); }

  // The time at which the page is mapped whose request arrives then. Requests are served in the
  // order of the calls: one that names an earlier time than the call before arrives with that one.
  double serve(double arrives_ns) {
    last_ns_ = std::max(last_ns_, arrives_ns);
    if (taken_ > 0 && taken_ < batch_ && last_ns_ <= begin_ns_) {
      ++taken_;
    } else {
      begin_ns_ = std::max(last_ns_, end_ns_);
      end_ns_ = begin_ns_ + thesis::fault_batch_ns;
      taken_ = 1;
      ++batches_;
    }
    end_ns_ += thesis::fault_ns;
    return end_ns_;
  }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }

 private:
  std::uint32_t batch_;
  double last_ns_ = 0;       // The newest request's arrival.
  double begin_ns_ = 0;      // Of the newest batch.
  double end_ns_ = 0;        // Of its newest request.
  std::uint32_t taken_ = 0;  // Its requests so far.
  std::uint64_t batches_ = 0;
};

}  // namespace k2k::labs::translation
