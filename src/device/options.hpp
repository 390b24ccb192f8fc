#pragma once
// The options of a call, as types: invalid combinations do not compile.
//
//   scope    work_item | work_group | kernel(site)
//   order    strong (default) | relaxed          thesis, section 3.5.1
//   outcome  blocking (default) | async | detached
//            async: tickets keep at most half of the device's slots; beyond, the call completes
//            before its ticket is returned
//   wait     polling (default) | halting         thesis, section 3.5.3
//   role     by default the role in the call's row, or as_consumer | as_producer
//   urgent   do not delay this request for coalescing
//   wave_wide (work-item scope) every lane of the wave makes the call together: one doorbell
//
//   k2k::write(k2k::work_group, k2k::relaxed | k2k::async, fd, buffer, count)

#include <cstdint>
#include <type_traits>

#include "base/attributes.hpp"
#include "calls/rows.hpp"
#include "protocol/slot.hpp"

namespace k2k {

struct WorkItem {
  static constexpr protocol::Scope scope = protocol::Scope::work_item;
};
struct WorkGroup {
  static constexpr protocol::Scope scope = protocol::Scope::work_group;
};
// A site identifies a kernel-scope call within a launch: every group passes the same site, and a
// launch uses each site once (the second use answers -EALREADY).
struct Kernel {
  static constexpr protocol::Scope scope = protocol::Scope::kernel;
  std::uint32_t site = 0;  // 0 to 63.
  K2K_HD constexpr Kernel operator()(std::uint32_t which) const { return Kernel{which}; }
};

inline constexpr WorkItem work_item{};
inline constexpr WorkGroup work_group{};
inline constexpr Kernel kernel{};

enum class Order : std::uint8_t { strong, relaxed };
enum class Outcome : std::uint8_t { blocking, async, detached };
enum class Waiting : std::uint8_t { polling, halting };
enum class RoleChoice : std::uint8_t { of_the_call, consumer, producer };

namespace device {

template <Order order_ = Order::strong, Outcome outcome_ = Outcome::blocking,
          Waiting waiting_ = Waiting::polling, RoleChoice role_ = RoleChoice::of_the_call,
          bool urgent_ = false, bool wave_wide_ = false>
struct Options {
  static constexpr Order order = order_;
  static constexpr Outcome outcome = outcome_;
  static constexpr Waiting waiting = waiting_;
  static constexpr RoleChoice role = role_;
  static constexpr bool urgent = urgent_;
  static constexpr bool wave_wide = wave_wide_;
};

// The same options without wave_wide: each lane makes the call for itself.
template <class Chosen>
using Alone =
    Options<Chosen::order, Chosen::outcome, Chosen::waiting, Chosen::role, Chosen::urgent>;

template <class T>
struct IsOptions : std::false_type {};
template <Order a, Outcome b, Waiting c, RoleChoice d, bool e, bool f>
struct IsOptions<Options<a, b, c, d, e, f>> : std::true_type {};

template <class T>
struct IsScope : std::bool_constant<std::is_same_v<T, WorkItem> || std::is_same_v<T, WorkGroup> ||
                                    std::is_same_v<T, Kernel>> {};

// The value that differs from the default wins; two different non-default values do not compile.
template <class Value>
K2K_HD constexpr Value merged(Value left, Value right, Value fallback) {
  return left == fallback ? right : left;
}
template <class Value>
K2K_HD constexpr bool agree(Value left, Value right, Value fallback) {
  return left == right || left == fallback || right == fallback;
}

template <class Left, class Right,
          class = std::enable_if_t<IsOptions<Left>::value && IsOptions<Right>::value>>
K2K_HD constexpr auto operator|(Left, Right) {
  static_assert(agree(Left::outcome, Right::outcome, Outcome::blocking),
                "a call is async or detached, not both");
  static_assert(agree(Left::role, Right::role, RoleChoice::of_the_call),
                "a call is as_consumer or as_producer, not both");
  return Options<merged(Left::order, Right::order, Order::strong),
                 merged(Left::outcome, Right::outcome, Outcome::blocking),
                 merged(Left::waiting, Right::waiting, Waiting::polling),
                 merged(Left::role, Right::role, RoleChoice::of_the_call),
                 Left::urgent || Right::urgent, Left::wave_wide || Right::wave_wide>{};
}

// Fails to compile, with the reason, if the scope does not support the options.
template <class Scope, class Chosen>
K2K_HD constexpr void check_options() {
  static_assert(IsScope<Scope>::value, "the first argument is work_item, work_group or kernel");
  static_assert(Scope::scope != protocol::Scope::work_item || Chosen::order == Order::strong,
                "work-item scope is always strong: one work-item has nobody to be relaxed towards");
  static_assert(Scope::scope != protocol::Scope::kernel || Chosen::order == Order::relaxed,
                "kernel scope must be k2k::relaxed: a strong call waits for work-groups that may "
                "never fit on the device, which deadlocks (thesis, section 3.5.1)");
  static_assert(Scope::scope == protocol::Scope::work_item || !Chosen::wave_wide,
                "wave_wide goes with work_item scope: group and kernel calls have one caller");
}

// The role that decides which barrier relaxed order drops.
template <class Scope, class Chosen>
K2K_HD constexpr calls::Role role_of(calls::Role of_the_call) {
  if (Chosen::role == RoleChoice::consumer) return calls::Role::consumer;
  if (Chosen::role == RoleChoice::producer) return calls::Role::producer;
  return of_the_call;
}

}  // namespace device

inline constexpr device::Options<> strong{};
inline constexpr device::Options<Order::relaxed> relaxed{};
inline constexpr device::Options<Order::strong, Outcome::async> async{};
inline constexpr device::Options<Order::strong, Outcome::detached> detached{};
inline constexpr device::Options<Order::strong, Outcome::blocking, Waiting::halting> halting{};
inline constexpr device::Options<Order::strong, Outcome::blocking, Waiting::polling,
                                 RoleChoice::consumer>
    as_consumer{};
inline constexpr device::Options<Order::strong, Outcome::blocking, Waiting::polling,
                                 RoleChoice::producer>
    as_producer{};
inline constexpr device::Options<Order::strong, Outcome::blocking, Waiting::polling,
                                 RoleChoice::of_the_call, true>
    urgent{};
inline constexpr device::Options<Order::strong, Outcome::blocking, Waiting::polling,
                                 RoleChoice::of_the_call, false, true>
    wave_wide{};

}  // namespace k2k
