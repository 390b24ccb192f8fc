#pragma once
// Reads that the page cache is expected to answer, made while their bundle is walked through.
//
// Such a read takes half a microsecond. A batch would copy its request twice and repeat for each
// call the questions that have one answer for all of them; here the arguments go from the slot to
// the kernel, and a run of reads of one tenant has one look at the clock (decision 0046). If the
// expectation was wrong or the disk is slow, the role is taken over as from any other call, and the
// taker walks through the rest of the bundle.
//
// Threading: of the role's holder, for one bundle.

#include <cstdint>
#include <optional>

#include "server/core/role_service.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

// The read during which the role was lost.
struct LateRead {
  services::Request request;
  std::int64_t value = 0;
  std::uint64_t begun = 0;
};

class SpotReads final : public OnTheSpot {
 public:
  SpotReads(const RoleService::Parts& parts, ServiceThread& self, Role& role)
      : parts_(&parts), self_(&self), role_(&role), begun_(self.clock) {}

  // While no budget of a tenant must admit each request.
  static bool permitted(const Admission& admission, const Role& role) {
    return !admission.governed() && !role.trace;
  }

  Outcome serve(const ReadySlot& ready, services::Request& request) override;
  std::uint64_t settle(std::uint64_t& charged) override;

  // Of the read during which the role was lost.
  void answer_late();

 private:
  void begin_walk();
  void end_run(std::uint64_t moment);

  const RoleService::Parts* parts_;
  ServiceThread* self_;
  Role* role_;
  std::uint64_t begun_;        // cycles() at which the run began.
  std::uint64_t reads_ = 0;    // Of the run.
  std::uint64_t charged_ = 0;  // For runs, since settle().
  std::int16_t row_ = -1;
  std::size_t tenant_ = 0;
  bool walks_ = false;            // A call was made.
  bool measures_next_ = false;    // The next answer without times is timed.
  std::optional<LateRead> late_;  // Made when it is needed: most bundles have no read at all.
};

}  // namespace k2k::server
