// The engine that is done when submit() returns: for the page cache, where a transfer is a copy.

#include "io/blocking.hpp"
#include "io/engine.hpp"
#include "io/fixed_queue.hpp"

namespace k2k::io {

namespace {

class Buffered final : public Engine {
 public:
  explicit Buffered(std::uint32_t outstanding)
      : capabilities_{"buffered", false, outstanding}, completed_(outstanding) {}

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t outstanding() const override { return completed_.size(); }

  std::size_t submit(std::span<const Transfer> transfers) override {
    const std::size_t room = capabilities_.outstanding_max - completed_.size();
    const std::size_t count = std::min(transfers.size(), room);
    for (const Transfer& transfer : transfers.first(count)) completed_.push(transfer_now(transfer));
    return count;
  }

  std::size_t poll(std::span<Completion> into, std::size_t /*least*/) override {
    const std::size_t count = std::min(into.size(), completed_.size());
    for (Completion& completion : into.first(count)) completion = completed_.pop();
    return count;
  }

 private:
  Capabilities capabilities_;
  FixedQueue<Completion> completed_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_buffered(std::uint32_t outstanding) {
  if (Status status = check_outstanding(outstanding); !status) return status.error();
  return std::unique_ptr<Engine>(std::make_unique<Buffered>(outstanding));
}

}  // namespace k2k::io
