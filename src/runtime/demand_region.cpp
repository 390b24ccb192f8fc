#include "k2k/demand_region.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "backend/demand_pages.hpp"
#include "backend/device_regions.hpp"
#include "base/clock.hpp"

namespace k2k {

namespace {

backend::RegionPlan plan_of(const DemandRegionOptions& options) {
  backend::RegionPlan plan;
  plan.name = options.name;
  plan.handling = options.handling;
  plan.page_bytes = options.page_bytes;
  return plan;
}

}  // namespace

DemandRegion::DemandRegion(const backend::RegionHandle& handle, const backend::RegionPlan& plan)
    : handle_(handle), bytes_(plan.bytes), page_bytes_(plan.page_bytes), creator_(::getpid()) {}

DemandRegion::DemandRegion(DemandRegion&& other) noexcept
    : handle_(std::exchange(other.handle_, {})),
      bytes_(std::exchange(other.bytes_, 0)),
      page_bytes_(other.page_bytes_),
      creator_(other.creator_) {}

DemandRegion& DemandRegion::operator=(DemandRegion&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  std::swap(page_bytes_, other.page_bytes_);
  std::swap(creator_, other.creator_);
  return *this;
}

DemandRegion::~DemandRegion() {
  if (handle_.data == nullptr) return;
  // A forked child has neither the addresses nor the registration, and no driver.
  if (creator_ != ::getpid()) {
    static_cast<void>(new std::shared_ptr<void>(std::move(handle_.pages)));
    return;
  }
  backend::retire_region(std::move(handle_));
}

Result<DemandRegion> DemandRegion::create(Runtime& runtime, const backend::RegionPlan& plan) {
  const Result<backend::RegionHandle> handle = runtime.create_region(plan);
  if (!handle) return handle.error();
  return DemandRegion(handle.value(), plan);
}

Result<DemandRegion> DemandRegion::zero(Runtime& runtime, std::size_t bytes,
                                        const DemandRegionOptions& options) {
  backend::RegionPlan plan = plan_of(options);
  plan.bytes = bytes;
  return create(runtime, plan);
}

Result<DemandRegion> DemandRegion::copy_of(Runtime& runtime, const void* from, std::size_t bytes,
                                           const DemandRegionOptions& options) {
  backend::RegionPlan plan = plan_of(options);
  plan.bytes = bytes;
  plan.source = backend::PageSource::copy;
  plan.copy_from = static_cast<const std::byte*>(from);
  return create(runtime, plan);
}

Result<DemandRegion> DemandRegion::file(Runtime& runtime, int descriptor, std::int64_t offset,
                                        std::size_t bytes, const DemandRegionOptions& options) {
  backend::RegionPlan plan = plan_of(options);
  plan.bytes = bytes;
  plan.source = backend::PageSource::file;
  plan.descriptor = descriptor;
  plan.offset = offset;
  return create(runtime, plan);
}

Status DemandRegion::populate(std::size_t offset, std::size_t bytes) {
  if (offset > bytes_ || bytes > bytes_ - offset) {
    return Error{EINVAL, fmt::format("bytes {} to {} are not inside a demand region of {} bytes",
                                     offset, offset + bytes, bytes_)};
  }
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(handle_.data) + offset;
  const int error = handle_.pages != nullptr
                        ? backend::touch_pages(begin, bytes)
                        : backend::populate_missing(begin, bytes, backend::PageAccess::write,
                                                    backend::Reading::blocking);
  if (error == 0) return {};
  return Error{error, fmt::format("a page of the demand region in bytes {} to {} cannot be brought "
                                  "in: {}",
                                  offset, offset + bytes, std::strerror(error))};
}

Status DemandRegion::discard(std::size_t offset, std::size_t bytes) {
  const std::uint64_t called = cycles();
  const bool inside = offset <= bytes_ && bytes <= bytes_ - offset;
  const auto range = [&] { return fmt::format("bytes {} to {}", offset, offset + bytes); };
  if (!inside) {
    return Error{EINVAL,
                 fmt::format("{} are not inside a demand region of {} bytes", range(), bytes_)};
  }
  if (offset % page_bytes_ != 0 || bytes % page_bytes_ != 0) {
    return Error{EINVAL, fmt::format("{} of a demand region are not whole pages of {} bytes; only "
                                     "pages can be discarded",
                                     range(), page_bytes_)};
  }
  if (creator_ != ::getpid()) {
    return Error{ESTALE, fmt::format("{} of a demand region belong to process {}; its child cannot "
                                     "discard them",
                                     range(), creator_)};
  }
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(handle_.data) + offset;
  const int error = handle_.pages != nullptr ? backend::discard_pages(handle_.pages, begin, bytes)
                                             : backend::discard(begin, bytes, called);
  if (error == 0) return {};
  if (error == ENOTSUP) {
    return Error{ENOTSUP, fmt::format("{} of the demand region cannot be discarded: the device "
                                      "filled it when it was made; make another region",
                                      range())};
  }
  return Error{error, fmt::format("{} of the demand region cannot be discarded: {}", range(),
                                  std::strerror(error))};
}

backend::RegionCounters DemandRegion::counters() const { return backend::region_counters(handle_); }

}  // namespace k2k
