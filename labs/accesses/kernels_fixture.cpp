#include "labs/accesses/kernels_fixture.hpp"

#include "device/k2k.hpp"
#include "labs/accesses/recorder.hpp"

namespace k2k::labs::accesses {

Result<LaunchReport> launch_known(Runtime& runtime, const LaunchShape& shape, const KnownJob& job) {
  const std::uint64_t items = std::uint64_t{shape.groups} * shape.group_items;
  const KnownJob copied = job;
  return recorded(
      true, {{job.read, items * 64}, {job.written, items * sizeof(std::uint32_t)}},
      [&] {
        return runtime.launch(
            shape,
            [=] K2K_DEVICE {
              const std::uint64_t rank = k2k::global_rank();
              std::uint64_t sum = copied.read[8 * rank];
              const std::uint64_t rounds = copied.rounds + (k2k::item_rank() < 8 ? 1 : 0);
              for (std::uint64_t round = 0; round < rounds; ++round) {
                // Depends on the sum, so that no compiler takes the load out of the loop.
                sum += copied.read[sum % 2 + 2];
              }
              copied.written[rank] = static_cast<std::uint32_t>(sum);
            },
            "known");
      },
      job.behind);
}

}  // namespace k2k::labs::accesses
