#include "labs/interference/orthogonal/fault_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "labs/interference/generators/input.hpp"
#include "labs/interference/generators/ubench_kernel.hpp"

namespace k2k::labs::orthogonal {

namespace {

using generators::page_bytes;
using generators::StreamKernel;

constexpr std::uint32_t outstanding = 64;
constexpr std::size_t pages_a_launch = 16'384;  // 64 MiB; then from the beginning again.

}  // namespace

Status FaultStream::run(Runtime& runtime) {
  while (protocol::load_acquire(&stop_) == 0) {
    auto region =
        generators::zeros<std::byte>(runtime, pages_a_launch * page_bytes, "fault stream");
    if (!region) return region.error();
    std::uint32_t wrong = 0;
    const StreamKernel kernel{region.value().as<const std::uint64_t>(), pages_a_launch, &stop_,
                              &wrong};
    const LaunchShape shape{.groups = 1,
                            .group_items = std::min(outstanding, runtime.device().group_items_max)};
    const auto report = runtime.launch(shape, kernel, "fault stream");
    if (!report) return report.error();
    if (wrong != 0) return Error{EIO, fmt::format("{} pages did not come as zeros", wrong)};
  }
  return {};
}

Status FaultStream::start(Runtime& runtime) {
  try {
    thread_ = std::thread([this, &runtime] {
      result_ = run(runtime);
      protocol::store_release(&ended_, std::uint32_t{1});  // Pairs with ended().
    });
  } catch (const std::system_error& failure) {
    return Error{EAGAIN, fmt::format("no thread for the launch ({}); raise the limit on processes: "
                                     "ulimit -u",
                                     failure.what())};
  }
  return {};
}

bool FaultStream::ended() const { return protocol::load_acquire(&ended_) != 0; }

Status FaultStream::stop() {
  protocol::store_release(&stop_, std::uint32_t{1});  // Pairs with the loads of run and kernel.
  if (thread_.joinable()) thread_.join();
  return result_;
}

FaultStream::~FaultStream() { static_cast<void>(stop()); }

}  // namespace k2k::labs::orthogonal
