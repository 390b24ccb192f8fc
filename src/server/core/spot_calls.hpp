#pragma once
// Makes short calls while it visits the requests of their bundle: reads that the page cache is
// expected to answer, and functions of the host program that never block and need no frame.
//
// Such a call takes half a microsecond or less. A batch would copy its request twice and repeat
// checks that have one answer for all calls. Here the arguments go from the slot to the call, and
// consecutive calls of one kind and tenant share one clock reading (decision 0046). If a read waits
// for a slow disk or a function is longer than promised, the role is taken over as from any other
// call, and the new holder serves the rest of the bundle.
//
// Threading: owned by the role's holder, for one bundle.

#include <cstdint>
#include <optional>
#include <vector>

#include "server/core/role_service.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

struct SpotAnswer {
  std::int64_t value = 0;
  bool waits = false;  // It would wait: another thread must make it.
};

// A call during which the role was lost.
struct LateSpotCall {
  services::Request request;
  SpotAnswer made;
  std::uint64_t begun = 0;
};

class SpotCalls final : public OnTheSpot {
 public:
  SpotCalls(const RoleService::Parts& parts, ServiceThread& self, Role& role)
      : parts_(&parts), self_(&self), role_(&role), begun_(self.clock) {}

  // Returns true unless each request needs the admission of its tenant's budget.
  static bool permitted(const Admission& admission, const Role& role) {
    return !admission.governed() && !role.trace;
  }

  Outcome serve(const ReadySlot& ready, std::vector<Pending>& batch) override;
  std::uint64_t settle(std::uint64_t& charged) override;

  // Answers the call during which the role was lost.
  void answer_late();

 private:
  // The arguments, read once: the device can still write to the slot.
  struct Words {
    std::uint64_t word[protocol::argument_count];
  };
  Outcome read(const ReadySlot& ready, std::vector<Pending>& batch);
  Outcome call_function(const ReadySlot& ready, std::vector<Pending>& batch);
  // Makes the call by `call`, which returns a SpotAnswer, and answers it.
  template <class Call>
  Outcome make(const ReadySlot& ready, const Words& words, std::vector<Pending>& batch,
               const Call& call);
  // Answers a call that is timed from `begun` on.
  void answer_timed(const ReadySlot& ready, const Words& words, std::int64_t value,
                    std::uint64_t begun);
  static void copy(const ReadySlot& ready, const Words& words, services::Request& request);
  void begin_walk();
  void begin_call(const ReadySlot& ready);
  void end_run(std::uint64_t moment);

  const RoleService::Parts* parts_;
  ServiceThread* self_;
  Role* role_;
  std::uint64_t begun_;        // cycles() at which the run began.
  std::uint64_t calls_ = 0;    // Calls of the run.
  std::uint64_t charged_ = 0;  // Cycles charged for runs since settle().
  std::int16_t row_ = -1;
  std::size_t tenant_ = 0;
  bool walks_ = false;                // A call was made.
  bool measures_next_ = false;        // The next answer without times is timed.
  std::optional<LateSpotCall> late_;  // Constructed on demand: most bundles have no such call.
};

}  // namespace k2k::server
