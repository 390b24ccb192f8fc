// The phases of CoMD by threads of the host: the kernels' code.

#include "apps/comd/kernel.hpp"

namespace k2k::comd {

void make_share(Phase phase, const Share& share, std::uint32_t odd, const Job& job) {
  switch (phase) {
    case Phase::take:
      return take(job, share);
    case Phase::move:
      return move(job, share, odd);
    case Phase::order:
      return order(job, share, odd);
    case Phase::first_push:
      return push(job, share, odd, false);
    case Phase::push:
      return push(job, share, odd, true);
    case Phase::sum:
      return sum(job, share);
  }
}

}  // namespace k2k::comd
