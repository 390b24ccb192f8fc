#include "io/memory/driver_memory.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace k2k::io {

namespace {

using cuda::Calls;
using cuda::Code;
using cuda::Handle;

cuda::Address address_of(const std::byte* device) {
  return reinterpret_cast<std::uintptr_t>(device);
}

// Makes a context the calling thread's for a while.
class Current {
 public:
  Current(const Calls& calls, Handle context) : calls_(calls), code_(calls.context_push(context)) {}
  ~Current() {
    Handle popped = nullptr;
    if (code_ == cuda::success) calls_.context_pop(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  [[nodiscard]] Code code() const { return code_; }

 private:
  const Calls& calls_;
  Code code_;
};

// A device's primary context, held.
class Context {
 public:
  Context(const Calls& calls, cuda::Device device, Handle handle)
      : calls_(calls), device_(device), handle_(handle) {}
  ~Context() { calls_.context_release(device_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  static Result<std::shared_ptr<const Context>> retain(const Result<Calls>& calls, int number) {
    if (!calls) return calls.error();
    cuda::Device device = 0;
    if (const Code code = calls.value().device_get(&device, number); code != cuda::success) {
      return Error{ENODEV,
                   fmt::format("{} memory: there is no device {}: {}; see {}", calls.value().vendor,
                               number, calls.value().words(code), calls.value().tool)};
    }
    Handle handle = nullptr;
    if (const Code code = calls.value().context_retain(&handle, device); code != cuda::success) {
      return Error{
          cuda::errno_of(code),
          fmt::format("{} memory: no context on device {}: {}; see {}", calls.value().vendor,
                      number, calls.value().words(code), calls.value().tool)};
    }
    return std::make_shared<const Context>(calls.value(), device, handle);
  }

  [[nodiscard]] const Calls& calls() const { return calls_; }
  [[nodiscard]] Handle handle() const { return handle_; }

 private:
  Calls calls_;
  cuda::Device device_;
  Handle handle_;
};

class DriverQueue final : public CopyQueue {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

 public:
  DriverQueue(std::shared_ptr<const Context> context, std::uint32_t buffers,
              std::size_t buffer_bytes)
      : context_(std::move(context)), buffer_bytes_(buffer_bytes), events_(buffers) {}
  ~DriverQueue() override {
    const Current current(calls(), context_->handle());
    for (const Handle event : events_) {
      if (event != nullptr) calls().event_destroy(event);
    }
    if (stream_ != nullptr) calls().stream_destroy(stream_);
    if (pinned_ != nullptr) calls().host_free(pinned_);
  }

  Status build() {
    const Current current(calls(), context_->handle());
    if (Status status = say(current.code(), "make its context current"); !status) return status;
    const std::size_t bytes = events_.size() * buffer_bytes_;
    Status status = say(calls().host_alloc(&pinned_, bytes, cuda::host_alloc_portable),
                        fmt::format("pin {} bytes; take fewer or shorter buffers", bytes));
    if (!status) return status;
    status = say(calls().stream_create(&stream_, cuda::stream_non_blocking), "make a stream");
    for (Handle& event : events_) {
      if (!status) break;
      status = say(calls().event_create(&event, cuda::event_disable_timing), "make an event");
    }
    return status;
  }

  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t index) override {
    return {static_cast<std::byte*>(pinned_) + index * buffer_bytes_, buffer_bytes_};
  }

  int copy_in(std::uint32_t index, std::byte* device, std::size_t bytes) override {
    return begin(index, [&] {
      return calls().copy_in(address_of(device), buffer(index).data(), bytes, stream_);
    });
  }
  int copy_out(std::uint32_t index, const std::byte* device, std::size_t bytes) override {
    return begin(index, [&] {
      return calls().copy_out(buffer(index).data(), address_of(device), bytes, stream_);
    });
  }

  Look look(std::uint32_t index) override {
    const Code code = is_last(index) ? ended(calls().stream_query, stream_)
                                     : ended(calls().event_query, events_[index]);
    if (code == cuda::not_ready) return {};
    if (is_last(index)) last_ = none;
    return {true, cuda::errno_of(code)};
  }

 private:
  [[nodiscard]] const Calls& calls() const { return context_->calls(); }

  [[nodiscard]] Status say(Code code, const std::string& what) const {
    if (code == cuda::success) return {};
    return Error{cuda::errno_of(code), fmt::format("{} memory: the driver could not {}: {}",
                                                   calls().vendor, what, calls().words(code))};
  }

  // No other copy was begun since.
  [[nodiscard]] bool is_last(std::uint32_t index) const { return last_ == index; }

  // A query needs no current context, as far as is known; if it fails, it is made with one.
  Code ended(Code (*query)(Handle), Handle handle) const {
    const Code code = query(handle);
    if (code == cuda::success || code == cuda::not_ready) return code;
    const Current current(calls(), context_->handle());
    return current.code() == cuda::success ? query(handle) : code;
  }

  template <class Copy>
  int begin(std::uint32_t index, Copy copy) {
    const Current current(calls(), context_->handle());
    if (current.code() != cuda::success) return cuda::errno_of(current.code());
    if (last_ != none) {
      // Without its event, the copy before would only be known to have ended with this one.
      const Code code = calls().event_record(events_[last_], stream_);
      if (code != cuda::success) return cuda::errno_of(code);
    }
    if (const Code code = copy(); code != cuda::success) return cuda::errno_of(code);
    last_ = index;
    return 0;
  }

  std::shared_ptr<const Context> context_;
  std::size_t buffer_bytes_;
  void* pinned_ = nullptr;
  Handle stream_ = nullptr;
  std::vector<Handle> events_;  // One a buffer.
  std::uint32_t last_ = none;   // The buffer of the last copy, if it is in flight.
};

class DriverMemory final : public DeviceMemory {
 public:
  explicit DriverMemory(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  [[nodiscard]] const char* name() const override { return context_->calls().memory; }
  [[nodiscard]] bool kernel_reaches() const override { return false; }

  Result<std::unique_ptr<CopyQueue>> make_queue(std::uint32_t buffers,
                                                std::size_t buffer_bytes) override {
    auto queue = std::make_unique<DriverQueue>(context_, buffers, buffer_bytes);
    if (Status status = queue->build(); !status) return status.error();
    return std::unique_ptr<CopyQueue>(std::move(queue));
  }

  [[nodiscard]] Status can_map() const override {
    return Error{EOPNOTSUPP,
                 fmt::format("{} memory: its driver maps no device memory for the CPU's "
                             "stores; take staging",
                             context_->calls().vendor)};
  }
  Result<std::byte*> map(std::byte* /*address*/, std::size_t /*bytes*/) override {
    return can_map().error();
  }

 private:
  std::shared_ptr<const Context> context_;
};

}  // namespace

Result<std::unique_ptr<DeviceMemory>> make_driver_memory(const Result<Calls>& calls, int device) {
  Result<std::shared_ptr<const Context>> context = Context::retain(calls, device);
  if (!context) return context.error();
  return std::unique_ptr<DeviceMemory>(std::make_unique<DriverMemory>(std::move(context).value()));
}

Result<std::shared_ptr<std::byte>> allocate_by_driver(const Result<Calls>& calls, std::size_t bytes,
                                                      int device) {
  const Result<std::shared_ptr<const Context>> held = Context::retain(calls, device);
  if (!held) return held.error();
  const std::shared_ptr<const Context>& context = held.value();
  const Current current(context->calls(), context->handle());
  cuda::Address address = 0;
  Code code = current.code();
  if (code == cuda::success) code = context->calls().device_alloc(&address, bytes);
  if (code != cuda::success) {
    return Error{cuda::errno_of(code),
                 fmt::format("{} memory: {} bytes of device {} are not to be had: {}; see who "
                             "uses it with {}",
                             context->calls().vendor, bytes, device, context->calls().words(code),
                             context->calls().tool)};
  }
  return std::shared_ptr<std::byte>(reinterpret_cast<std::byte*>(address),
                                    [context, address](std::byte*) {
                                      const Current again(context->calls(), context->handle());
                                      context->calls().device_free(address);
                                    });
}

Result<std::function<void()>> driver_context_setter(const Result<Calls>& calls, int device) {
  const Result<std::shared_ptr<const Context>> context = Context::retain(calls, device);
  if (!context) return context.error();
  return std::function<void()>(
      [held = context.value()] { static_cast<void>(held->calls().context_set(held->handle())); });
}

}  // namespace k2k::io
