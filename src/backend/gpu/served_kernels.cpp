#include "backend/gpu/served_kernels.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "backend/gpu/launching.hpp"
#include "device/platform/foreign_context.hpp"

namespace k2k::backend::gpu {

namespace {

using device::platform::ForeignContext;
using device::platform::SharedRange;

const Error not_serving{EINVAL,
                        "the runtime does not serve kernels of other libraries: call k2k_serve() "
                        "first"};

bool same(const SharedRange& one, const SharedRange& other) {
  return one.begin == other.begin && one.end == other.end;
}

}  // namespace

Status ServedKernels::begin() {
  const std::lock_guard lock(parts_.launching);
  if (serves_) {
    return Error{EBUSY,
                 "the runtime serves kernels of other libraries already: end that first, or create "
                 "another runtime"};
  }
  protocol::store_release(parts_.memory.cancel_word(), 0u);
  parts_.stop.store(0, std::memory_order_release);
  parts_.gate.open();
  runs_.emplace();
  serves_ = true;
  return {};
}

Result<std::uint64_t> ServedKernels::context() {
  const std::lock_guard lock(parts_.launching);
  if (!serves_) return not_serving;
  Told told(told_ranges_max);
  const Memory::RangeCounts counts = parts_.memory.told_ranges(told.data());
  told.resize(std::size_t{counts.shared} + counts.registered);
  if (!contexts_.empty() && std::equal(told.begin(), told.end(), told_.begin(), told_.end(), same))
    return reinterpret_cast<std::uint64_t>(contexts_.back());
  return write_context(told, counts);
}

Result<std::uint64_t> ServedKernels::write_context(const Told& told,
                                                   const Memory::RangeCounts& counts) {
  const Current current(parts_.driver);
  const std::size_t range_bytes = told.size() * sizeof(SharedRange);
  void* allocated = nullptr;
  Status done =
      parts_.driver.call(parts_.driver.allocate(&allocated, sizeof(ForeignContext) + range_bytes),
                         "allocate the context of foreign kernels");
  if (!done) return done.error();
  auto* const address = static_cast<std::byte*>(allocated);
  contexts_.push_back(address);  // Freed by end(), whatever happens now.
  ForeignContext context;
  context.compiled_for = device::platform::foreign_layout;
  context.launch = launch_context(parts_.memory);
  context.launch.ranges = reinterpret_cast<const SharedRange*>(address + sizeof(ForeignContext));
  context.launch.range_count = counts.shared;
  context.launch.registered_count = counts.registered;
  std::vector<std::byte> image(sizeof(ForeignContext) + range_bytes);
  std::memcpy(image.data(), &context, sizeof(context));
  std::memcpy(image.data() + sizeof(context), told.data(), range_bytes);
  done = parts_.memory.copy(address, image.data(), image.size());
  if (!done) return done.error();
  told_ = told;
  return reinterpret_cast<std::uint64_t>(address);
}

Status ServedKernels::end() {
  const std::lock_guard lock(parts_.launching);
  if (!serves_) return not_serving;
  const Current current(parts_.driver);
  Status done =
      parts_.driver.call(parts_.driver.synchronize(), "wait for the kernels of other libraries");
  const bool cancelled = parts_.stop.load(std::memory_order_acquire) != 0 ||
                         protocol::load_acquire(parts_.memory.cancel_word()) != 0;
  if (!done) {
    parts_.stop.store(EIO, std::memory_order_release);
  } else if (cancelled) {
    parts_.stop.store(ECANCELED, std::memory_order_release);
    done = Error{ECANCELED, "the kernels of other libraries were cancelled"};
  }
  if (!done && parts_.on_abandon) parts_.on_abandon();
  if (done || done.error().code == ECANCELED) {
    if (const Status swept = sweep_all(); !swept) done = swept;
  }
  parts_.gate.close();
  serves_ = false;
  forget_contexts();
  runs_.reset();
  return done;
}

Status ServedKernels::sweep_all() {
  const Stream stream = parts_.memory.copies();
  if (Status done = parts_.memory.read_locks(stream); !done) return done;
  if (Status done = parts_.memory.finish(stream); !done) return done;
  const Result<std::uint32_t> swept = put_in_order(parts_.memory, stream);
  return swept ? Status() : swept.error();
}

void ServedKernels::forget_contexts() {
  for (std::byte* const address : contexts_) parts_.driver.free(address);
  contexts_.clear();
  told_.clear();
}

}  // namespace k2k::backend::gpu
