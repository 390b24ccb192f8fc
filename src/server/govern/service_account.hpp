#pragma once
// The grants of a service thread, and its charges.
//
// Threading: belongs to one service thread.

#include <array>
#include <cstdint>

#include "base/units.hpp"
#include "governor/governor.hpp"
#include "server/account/tenant_charges.hpp"
#include "server/account/thread_stats.hpp"
#include "server/govern/clocks.hpp"

namespace k2k::server {

struct ServiceAccount {
  Nanoseconds charged{};  // The thread's CPU clock at the last charge.
  Nanoseconds reserved{};
  std::uint64_t until = 0;  // cycles() at which the grant is spent at the latest.
  std::uint32_t requests = 0;
  std::uint32_t epoch = 0;   // The governor to which `charged` belongs.
  std::uint32_t passes = 0;  // Passes without a cap since the keeper's due time was last compared.
  bool open = false;         // True while it has a grant.

  // Interrupts behind its requests (interrupt_cost.hpp): what ended its sleeps since the last
  // charge, unless it may have slept for other reasons.
  enum class Since : std::uint8_t {
    rest,   // It may have slept until it was wanted.
    call,   // A call that may sleep has begun: its sleeps count.
    grant,  // It has served: its sleeps count, and it had a core in the time between.
  };
  Since since = Since::rest;
  std::uint32_t interrupts = 0;  // Beyond its sleeps: of completions that it waited for together.
  Switches switches;             // At the last charge,
  Instant charged_at{};          // which was then.

  // With budgets of tenants: the grant for one budget's requests.
  struct Grant {
    std::uint64_t until = 0;  // cycles(); 0 = none.
    Nanoseconds reserved{};
    std::uint64_t retry_at = 0;  // cycles() before which the governor refuses.
  };
  governor::Tenant payer = 0;    // The budget that pays for looks at doorbells.
  ThreadStats* stats = nullptr;  // Of the thread; nullptr = requests are not charged by tenant.
  TenantCharges charges;
  Nanoseconds
      uncharged{};  // CPU time of looks and interrupts, charged to the tenant that is served next.
  std::array<Grant, governor::tenants_max> grants{};
};

}  // namespace k2k::server
