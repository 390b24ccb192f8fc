#pragma once
// A service thread's part of a decision: it serves without asking again until the grant is spent.
//
//   if (lease.empty()) { lock; lease.open(governor.decide(now, request)); unlock; }
//   while (lease.allows() && there is a request) { serve; lease.spend(measured, 1); }
//   lock; governor.settle(now, lease.reserved(), lease.close(tenant)); unlock;
//
// Threading: confined to one thread.

#include "base/contract.hpp"
#include "governor/governor.hpp"

namespace k2k::governor {

class Lease {
 public:
  // Expects a decision to serve, and that the lease is closed.
  void open(const Decision& decision) {
    K2K_EXPECT(decision.verdict == Verdict::serve && !open_);
    grant_ = decision.grant;
    predicted_ = decision.predicted;
    reserved_ = decision.reserved;
    spent_ = {};
    open_ = true;
  }
  // Returns true if one more request may be served. The first always may.
  [[nodiscard]] bool allows() const {
    return open_ && (spent_.requests == 0 || spent_.cpu + predicted_ <= grant_);
  }
  void spend(Nanoseconds cpu, std::uint32_t requests) {
    spent_.cpu += cpu;
    spent_.requests += requests;
  }

  [[nodiscard]] bool empty() const { return !open_; }
  [[nodiscard]] Nanoseconds reserved() const { return reserved_; }
  // Expects that the lease is open.
  Spent close(Tenant tenant, bool contended = true) {
    K2K_EXPECT(open_);
    open_ = false;
    spent_.tenant = tenant;
    spent_.contended = contended;
    return spent_;
  }

 private:
  Nanoseconds grant_{};
  Nanoseconds predicted_{};
  Nanoseconds reserved_{};
  Spent spent_;
  bool open_ = false;
};

}  // namespace k2k::governor
