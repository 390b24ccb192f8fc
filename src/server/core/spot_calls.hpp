#pragma once
// Short calls that are made while their bundle is walked through: reads that the page cache is
// expected to answer, and functions of the host program that never block and need no frame.
//
// Such a call takes half a microsecond or less. A batch would copy its request twice and repeat for
// each call the questions that have one answer for all of them; here the arguments go from the slot
// to the call, and a run of one kind of call of one tenant has one look at the clock (decision
// 0046). If the expectation was wrong, the disk is slow or the function is not as short as
// promised, the role is taken over as from any other call, and the taker walks through the rest of
// the bundle.
//
// Threading: of the role's holder, for one bundle.

#include <cstdint>
#include <optional>

#include "server/core/role_service.hpp"
#include "server/poll/bottom_half.hpp"

namespace k2k::server {

struct SpotAnswer {
  std::int64_t value = 0;
  bool waits = false;  // It would wait, and is to be made by another thread.
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

  // While no budget of a tenant must admit each request.
  static bool permitted(const Admission& admission, const Role& role) {
    return !admission.governed() && !role.trace;
  }

  Outcome serve(const ReadySlot& ready, services::Request& request) override;
  std::uint64_t settle(std::uint64_t& charged) override;

  // Of the call during which the role was lost.
  void answer_late();

 private:
  // The arguments, read once: a slot stays the device's to scribble on.
  struct Words {
    std::uint64_t word[protocol::argument_count];
  };
  Outcome read(const ReadySlot& ready, services::Request& request);
  Outcome call_function(const ReadySlot& ready, services::Request& request);
  // Makes the call by `call`, which returns a SpotAnswer, and answers it.
  template <class Call>
  Outcome make(const ReadySlot& ready, const Words& words, services::Request& request,
               const Call& call);
  static void copy(const ReadySlot& ready, const Words& words, services::Request& request);
  void begin_walk();
  void begin_call(const ReadySlot& ready);
  void end_run(std::uint64_t moment);

  const RoleService::Parts* parts_;
  ServiceThread* self_;
  Role* role_;
  std::uint64_t begun_;        // cycles() at which the run began.
  std::uint64_t calls_ = 0;    // Of the run.
  std::uint64_t charged_ = 0;  // For runs, since settle().
  std::int16_t row_ = -1;
  std::size_t tenant_ = 0;
  bool walks_ = false;          // A call was made.
  bool measures_next_ = false;  // The next answer without times is timed.
  std::optional<LateSpotCall>
      late_;  // Made when it is needed: most bundles have no such call at all.
};

}  // namespace k2k::server
