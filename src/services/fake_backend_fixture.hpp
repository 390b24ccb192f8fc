#pragma once
// For tests of code that uses a backend: a plain area, one span of memory that the host cannot
// address, and a record of the resumed rows.
//
// Threading: resume() and abandoned() from any thread; the rest is the test's.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <vector>

#include "backend/backend.hpp"
#include "protocol/area_fixture.hpp"

namespace k2k::services {

class FakeBackend : public backend::Backend {
 public:
  explicit FakeBackend(const protocol::AreaShape& shape = {}) : plain(shape) {}

  const backend::DeviceInfo& info() const override { return facts; }
  const protocol::AreaView& area() const override { return plain.view(); }
  Result<void*> allocate(std::size_t) override { return Error{ENOMEM, "a fake has no memory"}; }
  void free(void*) override {}
  Result<backend::LaunchReport> launch(const backend::KernelImage&,
                                       const backend::LaunchShape&) override {
    return Error{EINVAL, "a fake launches nothing"};
  }
  void cancel() noexcept override {}
  bool abandoned() const noexcept override { return is_abandoned; }
  void on_abandon(std::function<void()>) override {}
  void wait_doorbell(const std::uint64_t*, Nanoseconds) override {}
  void wake_server() noexcept override {}
  void resume(const std::uint32_t* waves, std::size_t count) noexcept override {
    const std::lock_guard lock(mutex_);
    resumed_.insert(resumed_.end(), waves, waves + count);
  }
  bool host_may_access(const void* address, std::size_t bytes) const override {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    return begin + bytes <= hidden_begin || begin >= hidden_end;
  }

  // Nothing in [hidden_begin, hidden_end) may be touched.
  std::uintptr_t hidden_begin = ~std::uintptr_t{0};
  std::uintptr_t hidden_end = 0;
  protocol::PlainArea plain;
  backend::DeviceInfo facts;
  std::atomic<bool> is_abandoned{false};

  std::vector<std::uint32_t> resumed() {
    const std::lock_guard lock(mutex_);
    return resumed_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> resumed_;
};

}  // namespace k2k::services
