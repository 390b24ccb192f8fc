#pragma once
// Calls of functions that the host program provides (Runtime::provide).
//
//   inline constexpr k2k::HostFunction<double(int, k2k::In<float>)> weigh{"weigh"};
//   const auto weight = k2k::host_call(k2k::work_item, weigh, 3, k2k::in(values, count));
//   const auto same = k2k::host_call<double>(k2k::work_item, "weigh", 3, k2k::in(values, count));
//
// Scopes, orders and options are those of every call, except for async. Arguments of group and
// kernel scope are those of the calling work-item. Buffers may lie in any memory; those that the
// host cannot address are copied, together at most 8 KiB.
//
// Errors:
//   -ENOSYS     no function of this name             -EPROTO   it has another signature
//   -EMSGSIZE   buffers beyond what can be copied    -EFAULT   a buffer that the host cannot reach
//   -ECANCELED  the launch or the runtime ended      -EIO      the function threw
//   and the errno that the function gives

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "calls/host_call.hpp"
#include "device/invoke.hpp"

namespace k2k {

// The answer of a host call.
template <class Value>
class HostReply {
 public:
  K2K_HD constexpr explicit HostReply(Reply status) : status_(status) {}
  K2K_HD constexpr HostReply(Reply status, const Value& value) : status_(status), value_(value) {}

  [[nodiscard]] K2K_HD constexpr bool ok() const { return status_.ok(); }
  // 0, or the errno.
  [[nodiscard]] K2K_HD constexpr int error() const { return status_.error(); }
  [[nodiscard]] K2K_HD constexpr Reply status() const { return status_; }
  // The result of the function; zero where the call failed.
  [[nodiscard]] K2K_HD constexpr const Value& value() const { return value_; }

 private:
  Reply status_;
  Value value_{};
};

template <>
class HostReply<void> {
 public:
  K2K_HD constexpr explicit HostReply(Reply status) : status_(status) {}
  [[nodiscard]] K2K_HD constexpr bool ok() const { return status_.ok(); }
  [[nodiscard]] K2K_HD constexpr int error() const { return status_.error(); }
  [[nodiscard]] K2K_HD constexpr Reply status() const { return status_; }

 private:
  Reply status_;
};

namespace device {

// A call's frame as it is filled.
class FrameFiller {
 public:
  K2K_DEVICE FrameFiller(std::byte* frame, std::size_t arguments_at)
      : buffer_(frame), argument_(frame + arguments_at) {}

  template <class T>
  K2K_DEVICE void add(const T& value) {
    if constexpr (calls::host::Parameter<T>::is_buffer) {
      // A count beyond all memory must not wrap to a small one.
      constexpr std::uint64_t count_max = calls::HostBuffer::bytes_max / sizeof(*value.data);
      const std::uint64_t count = value.count < count_max ? value.count : count_max;
      const calls::HostBuffer buffer{
          reinterpret_cast<std::uint64_t>(value.data),
          count * sizeof(*value.data) << 2 |
              static_cast<std::uint64_t>(calls::host::Parameter<T>::direction)};
      copy_bytes(buffer_, &buffer, sizeof(buffer));
      buffer_ += sizeof(buffer);
    } else {
      copy_bytes(argument_, &value, sizeof(value));
      argument_ += calls::whole_words(sizeof(value));
    }
  }

 private:
  std::byte* buffer_;
  std::byte* argument_;
};

// Gives item 0's bytes to all items of the group, a word at a time.
K2K_DEVICE inline void broadcast_bytes(std::byte* bytes, std::size_t count) {
  const platform::Item& me = platform::current();
  for (std::size_t at = 0; at < count; at += 8) {
    if (me.rank == 0) copy_bytes(&me.scratch[scratch_relaxed], bytes + at, 8);
    platform::barrier();
    copy_bytes(bytes + at, &me.scratch[scratch_relaxed], 8);
    platform::barrier();
  }
}

template <class Value, class Scope, class Chosen, class... Arguments>
K2K_DEVICE inline HostReply<Value> call_host(Scope scope, Chosen chosen, std::uint64_t id,
                                             const Arguments&... arguments) {
  using Types = calls::HostTypes<Value, Arguments...>;
  constexpr calls::HostLayout layout = Types::layout;
  constexpr bool gives =
      !std::is_void_v<Value> || (calls::host::Parameter<Arguments>::is_result || ... || false);
  static_assert(Chosen::outcome != Outcome::async,
                "a host call is blocking or detached: its frame lies on the caller's stack");
  static_assert(Chosen::outcome != Outcome::detached || !gives,
                "a detached host call returns nothing and has no k2k::Out and k2k::InOut: its "
                "caller has gone on when they are filled");
  static_assert(Scope::scope != protocol::Scope::kernel || Chosen::role == RoleChoice::consumer ||
                    layout.replies_in_answer(),
                "a kernel-scope producer call replies with at most 7 bytes: fill a k2k::Out in "
                "device memory instead");
  constexpr std::size_t bytes = layout.in_slot() ? calls::host_bytes_in_slot : layout.frame_bytes();
  alignas(8) std::byte frame[bytes] = {};
  FrameFiller filler(frame, layout.arguments_at());
  (filler.add(arguments), ...);
  std::uint64_t words[3] = {reinterpret_cast<std::uint64_t>(&frame[0]), bytes, 0};
  if constexpr (layout.in_slot()) copy_bytes(words, frame, sizeof(words));
  const Reply reply = call<calls::host_call_number>(scope, chosen, id, Types::signature, words[0],
                                                    words[1], words[2], layout.shape());
  if constexpr (std::is_void_v<Value>) {
    return HostReply<void>(reply);
  } else {
    if (!reply.ok()) return HostReply<Value>(reply);
    Value value;
    if constexpr (layout.replies_in_answer()) {
      const std::int64_t answer = reply.value();
      copy_bytes(&value, &answer, sizeof(value));
    } else {
      if constexpr (Scope::scope == protocol::Scope::work_group) {
        constexpr bool told =
            Chosen::order == Order::strong || Chosen::role != RoleChoice::consumer;
        if constexpr (told) broadcast_bytes(frame + layout.reply_at(), layout.reply_bytes);
      }
      copy_bytes(&value, frame + layout.reply_at(), sizeof(value));
    }
    return HostReply<Value>(Reply(0), value);
  }
}

}  // namespace device

// By name. The arguments' types are the signature: pass exactly the types that the function takes.
template <
    class Value, class Scope, class Chosen, class... Arguments,
    class = std::enable_if_t<device::IsScope<Scope>::value && device::IsOptions<Chosen>::value>>
K2K_DEVICE inline HostReply<Value> host_call(Scope scope, Chosen chosen, HostName name,
                                             Arguments... arguments) {
  return device::call_host<Value>(scope, chosen, name.id, arguments...);
}
template <class Value, class Scope, class... Arguments,
          class = std::enable_if_t<device::IsScope<Scope>::value>>
K2K_DEVICE inline HostReply<Value> host_call(Scope scope, HostName name, Arguments... arguments) {
  return device::call_host<Value>(scope, strong, name.id, arguments...);
}

// By a declared function: arguments are converted to its types.
template <
    class Scope, class Chosen, class Value, class... Parameters,
    class = std::enable_if_t<device::IsScope<Scope>::value && device::IsOptions<Chosen>::value>>
K2K_DEVICE inline HostReply<Value> host_call(Scope scope, Chosen chosen,
                                             const HostFunction<Value(Parameters...)>& function,
                                             std::common_type_t<Parameters>... arguments) {
  return device::call_host<Value, Scope, Chosen, Parameters...>(scope, chosen, function.id,
                                                                arguments...);
}
template <class Scope, class Value, class... Parameters,
          class = std::enable_if_t<device::IsScope<Scope>::value>>
K2K_DEVICE inline HostReply<Value> host_call(Scope scope,
                                             const HostFunction<Value(Parameters...)>& function,
                                             std::common_type_t<Parameters>... arguments) {
  return device::call_host<Value, Scope, std::remove_const_t<decltype(strong)>, Parameters...>(
      scope, strong, function.id, arguments...);
}

}  // namespace k2k
