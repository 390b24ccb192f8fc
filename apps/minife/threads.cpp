// The phases of miniFE by threads of the host: the kernels' code.

#include "apps/minife/kernel.hpp"

namespace k2k::minife {

void make_share(Phase phase, const Share& share, double factor, const Job& job) {
  switch (phase) {
    case Phase::take:
      return take(job, share);
    case Phase::judge:
      return judge(job, share);
    case Phase::begin:
      return begin(job, share);
    case Phase::multiply:
      return multiply(job, share);
    case Phase::advance:
      return advance(job, share, factor);
    case Phase::turn:
      return turn(job, share, factor);
    case Phase::measure:
      return measure(job, share);
  }
}

}  // namespace k2k::minife
