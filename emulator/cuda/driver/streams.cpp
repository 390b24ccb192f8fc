// cuStream…, cuEvent…, cuLaunchHostFunc.

#include "emulator/cuda/driver/state.hpp"

namespace k2k::emulator::driver {

namespace {

constexpr unsigned event_no_timing = 2;

struct Events {
  std::mutex mutex;
  std::map<Event*, std::shared_ptr<Event>> all;
};
Events& events() {
  static Events* const known = new Events;
  return *known;
}
std::shared_ptr<Event> event_of(CUevent handle) {
  const std::lock_guard lock(events().mutex);
  const auto found = events().all.find(object_of<Event>(handle));
  return found == events().all.end() ? nullptr : found->second;
}

// Null: it was not recorded yet.
std::shared_ptr<Moment> moment_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  return event.moment;
}

// with(context, stream) of the current context, or the reason why there is no such stream.
template <class With>
CUresult on_stream(CUstream handle, const With& with) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  Stream* stream = nullptr;
  if (const CUresult answer = stream_of(*context, handle, &stream); answer != success) {
    return answer;
  }
  return with(*context, *stream);
}

// An attribute of the stream, of(context, stream), to where `out` points.
template <class Value, class Of>
CUresult attribute_of(CUstream handle, Value* out, const Of& of) {
  return on_stream(handle, [&](Context& context, Stream& stream) {
    if (out == nullptr) return invalid_value;
    *out = of(context, stream);
    return success;
  });
}

}  // namespace

}  // namespace k2k::emulator::driver

using namespace k2k::emulator::driver;

K2K_ENTRY_POINT CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags,
                                                    int priority) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (handle == nullptr || flags > 1) return invalid_value;
  auto made = std::make_unique<Stream>(*context, flags, priority);
  *handle = handle_of<CUstream>(made.get());
  const std::lock_guard lock(context->mutex);
  Stream* const key = made.get();
  context->streams.emplace(key, std::move(made));
  return success;
}
K2K_ENTRY_POINT CUresult cuStreamCreate(CUstream* handle, unsigned flags) {
  return cuStreamCreateWithPriority(handle, flags, 0);
}

// Work that was added is still done.
K2K_ENTRY_POINT CUresult cuStreamDestroy_v2(CUstream handle) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  const std::vector<Context*>& stack = current_stack();
  if (stack.empty() || !Driver::get().knows(stack.back())) return invalid_context;
  Context& context = *stack.back();
  std::unique_ptr<Stream> ends;
  {
    const std::lock_guard lock(context.mutex);
    const auto found = context.streams.find(object_of<Stream>(handle));
    if (found == context.streams.end()) return invalid_handle;
    ends = std::move(found->second);
    context.streams.erase(found);
  }
  return success;
}

K2K_ENTRY_POINT CUresult cuStreamQuery(CUstream handle) {
  return on_stream(handle, [](Context& context, Stream& stream) {
    const std::shared_ptr<Moment> last = stream.last();
    return last->reached() ? finish(context, last) : static_cast<CUresult>(not_ready);
  });
}

K2K_ENTRY_POINT CUresult cuStreamSynchronize(CUstream handle) {
  return on_stream(handle,
                   [](Context& context, Stream& stream) { return finish(context, stream.last()); });
}

K2K_ENTRY_POINT CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
  return on_stream(handle, [event_handle](Context&, Stream& stream) {
    const std::shared_ptr<Event> event = event_of(event_handle);
    if (event == nullptr) return invalid_handle;
    if (const auto moment = moment_of(*event)) {
      add_in_order(stream, [moment](const auto&) { moment->wait(); }, moment);
    }
    return success;
  });
}

K2K_ENTRY_POINT CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return attribute_of(handle, flags, [](Context&, Stream& stream) { return stream.flags; });
}
K2K_ENTRY_POINT CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return attribute_of(handle, priority, [](Context&, Stream& stream) { return stream.priority; });
}
K2K_ENTRY_POINT CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
  return attribute_of(handle, out,
                      [](Context& context, Stream&) { return handle_of<CUcontext>(&context); });
}
// There is no capture, so no stream is captured.
K2K_ENTRY_POINT CUresult cuStreamIsCapturing(CUstream, int* status) {
  if (status == nullptr) return invalid_value;
  *status = 0;
  return success;
}

K2K_ENTRY_POINT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* argument) {
  return on_stream(handle, [=](Context& context, Stream& stream) {
    if (function == nullptr) return invalid_value;
    add_in_order(stream, [=, of = &context](const auto& place) {
      Driver::get().host_knows(place.before);
      if (of->fault.load() == success) function(argument);
    });
    return success;
  });
}
K2K_ENTRY_POINT CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback function,
                                             void* argument, unsigned) {
  return on_stream(handle, [=](Context& context, Stream& stream) {
    if (function == nullptr) return invalid_value;
    add_in_order(stream, [=, of = &context](const auto& place) {
      Driver::get().host_knows(place.before);
      function(handle, of->fault.load(), argument);
    });
    return success;
  });
}

K2K_ENTRY_POINT CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  Context* context = nullptr;
  if (const CUresult answer = Driver::get().current(&context); answer != success) return answer;
  if (handle == nullptr) return invalid_value;
  const auto made = std::make_shared<Event>();
  made->context = context;
  made->flags = flags;
  *handle = handle_of<CUevent>(made.get());
  const std::lock_guard lock(events().mutex);
  events().all.emplace(made.get(), made);
  return success;
}
K2K_ENTRY_POINT CUresult cuEventDestroy_v2(CUevent handle) {
  if (const CUresult answer = Driver::get().usable(); answer != success) return answer;
  const std::lock_guard lock(events().mutex);
  return events().all.erase(object_of<Event>(handle)) == 1 ? success : invalid_handle;
}
K2K_ENTRY_POINT CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned) {
  return on_stream(stream_handle, [handle](Context&, Stream& stream) {
    const std::shared_ptr<Event> event = event_of(handle);
    if (event == nullptr) return invalid_handle;
    const std::shared_ptr<Moment> moment = add_in_order(stream, [](const auto&) {});
    const std::lock_guard lock(event->mutex);
    event->moment = moment;
    return success;
  });
}
K2K_ENTRY_POINT CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return cuEventRecordWithFlags(handle, stream, 0);
}
K2K_ENTRY_POINT CUresult cuEventQuery(CUevent handle) {
  const std::shared_ptr<Event> event = event_of(handle);
  if (event == nullptr) return invalid_handle;
  const auto moment = moment_of(*event);
  if (moment == nullptr) return event->context->fault.load();
  return moment->reached() ? finish(*event->context, moment) : static_cast<CUresult>(not_ready);
}
K2K_ENTRY_POINT CUresult cuEventSynchronize(CUevent handle) {
  const std::shared_ptr<Event> event = event_of(handle);
  if (event == nullptr) return invalid_handle;
  const auto moment = moment_of(*event);
  return moment != nullptr ? finish(*event->context, moment) : event->context->fault.load();
}
K2K_ENTRY_POINT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent first, CUevent last) {
  const std::shared_ptr<Event> from = event_of(first);
  const std::shared_ptr<Event> to = event_of(last);
  if (from == nullptr || to == nullptr) return invalid_handle;
  if (milliseconds == nullptr) return invalid_value;
  if (((from->flags | to->flags) & event_no_timing) != 0) return invalid_handle;
  const auto begin = moment_of(*from);
  const auto end = moment_of(*to);
  if (begin == nullptr || end == nullptr) return invalid_handle;
  if (!begin->reached() || !end->reached()) return not_ready;
  Driver::get().host_knows(end->order);
  Driver::get().host_knows(begin->order);
  const auto nanoseconds = static_cast<std::int64_t>(end->at_ns() - begin->at_ns());
  *milliseconds = static_cast<float>(static_cast<double>(nanoseconds) / 1e6);
  return success;
}
K2K_ENTRY_POINT CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent last) {
  return cuEventElapsedTime_v2(milliseconds, first, last);
}
