#include "backend/cpu/simt/inline_role.hpp"

#include <sched.h>

#include "backend/cpu/simt/running.hpp"

namespace k2k::backend::cpu {

// A stay in the service, unless the service has ended meanwhile.
class InlineRole::Visit {
 public:
  explicit Visit(InlineRole& role) : role_(role) {
    role_.serves_.store(true, std::memory_order_seq_cst);  // Pairs with serve_inline().
    service = role_.plan_.inline_service.load(std::memory_order_seq_cst);
  }
  ~Visit() { role_.serves_.store(false, std::memory_order_release); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  InlineService* service = nullptr;

 private:
  InlineRole& role_;
};

InlineService::Found InlineRole::serve(InlineService::Reach reach) {
  const Visit visit(*this);
  running = nullptr;
  return visit.service == nullptr ? InlineService::Found::nothing
                                  : visit.service->serve(unit_, reach);
}

void InlineRole::end_launch() {
  constexpr int rounds_max = 1'000;
  for (int round = 0; round < rounds_max && may_serve(); ++round) {
    const InlineService::Found found = serve(InlineService::Reach::all);
    if (found == InlineService::Found::nothing) break;
    if (found == InlineService::Found::busy) sched_yield();
  }
  rest();
}

void InlineRole::rest() {
  if (!may_serve()) return;
  const Visit visit(*this);
  if (visit.service != nullptr) visit.service->rest(unit_);
}

}  // namespace k2k::backend::cpu
