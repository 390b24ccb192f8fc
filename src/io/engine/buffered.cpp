// The engine for the page cache, where a transfer is a copy: done when submit() returns.

#include "io/engine/blocking.hpp"
#include "io/engine/engine.hpp"
#include "io/engine/immediate.hpp"

namespace k2k::io {

namespace {

struct Now {
  std::int64_t operator()(const Transfer& transfer) const { return transfer_now(transfer).result; }
};

}  // namespace

Result<std::unique_ptr<Engine>> make_buffered(std::uint32_t outstanding) {
  if (Status status = check_outstanding(outstanding); !status) return status.error();
  return std::unique_ptr<Engine>(
      std::make_unique<Immediate<Now>>(Capabilities{"buffered", false, outstanding}, Now()));
}

}  // namespace k2k::io
