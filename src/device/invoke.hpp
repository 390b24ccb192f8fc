#pragma once
// The scopes of calls: which work-item makes the call, and where barriers stand (thesis, section
// 3.5.1, figures 3.3 and 3.4).
//
//                    before            the call          after
//   work-item        -                 every item        -
//   work-group       barrier*          item 0            barrier**, result to all
//   kernel consumer  barrier           last group, item 0   -              others: -EINPROGRESS
//   kernel producer  -                 first group, item 0  wait, barrier, result to all
//
//   *  dropped by relaxed order for producer calls   ** dropped by relaxed order for consumer calls
//
// Data written by every item before a consumer call is visible to the host: barrier, then release.
// Data of a producer call is visible to every item after it: acquire, then barrier.

#include <cstdint>
#include <type_traits>

#include "device/host_frame.hpp"
#include "device/submit.hpp"

namespace k2k::device {

class Argument;

template <class Given>
K2K_DEVICE constexpr std::uint64_t word_of(Given argument) {
  if constexpr (std::is_same_v<Given, Argument>) {
    return argument.word();
  } else if constexpr (std::is_pointer_v<Given>) {
    return reinterpret_cast<std::uint64_t>(argument);
  } else if constexpr (std::is_null_pointer_v<Given>) {
    return 0;
  } else {
    static_assert(std::is_integral_v<Given> || std::is_enum_v<Given>,
                  "system calls take integers and pointers");
    if constexpr (std::is_signed_v<Given>) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(argument));
    } else {
      return static_cast<std::uint64_t>(argument);
    }
  }
}

// An argument that is a number for some commands of a call, and a pointer for others.
class Argument {
 public:
  template <class Given>
  K2K_DEVICE constexpr Argument(Given given) : word_(word_of(given)) {}
  [[nodiscard]] K2K_DEVICE constexpr std::uint64_t word() const { return word_; }

 private:
  std::uint64_t word_;
};

template <class Chosen>
inline constexpr platform::Wait wait_of =
    Chosen::waiting == Waiting::halting ? platform::Wait::halted : platform::Wait::polling;

// One work-item makes the call. Returns its answer or its ticket, or for a detached call 0 once
// published.
template <std::uint16_t number, class Scope, class Chosen>
K2K_SHARED_CODE K2K_DEVICE inline auto perform(std::uint16_t call_number, Words arguments)
    -> std::conditional_t<Chosen::outcome == Outcome::async, Ticket<number>, Reply> {
  constexpr bool raw = number == Ticket<number>::raw_number;
  constexpr bool detached = Chosen::outcome == Outcome::detached;
  using Answer = std::conditional_t<Chosen::outcome == Outcome::async, Ticket<number>, Reply>;
  const protocol::AreaView& area = *platform::current().area;
  Transfer transfer;
  if constexpr (!raw) {
    // Lanes that hold a block must not wait for lanes that wait for one.
    const std::int64_t refusal =
        move_in<number>(area, arguments, detached, transfer, !Chosen::wave_wide);
    if constexpr (!Chosen::wave_wide) {
      if (refusal != 0) return Answer(Reply(refusal));
    }
    // Every lane reaches submit(), because the other lanes of the wave wait for it there.
    const Handle handle =
        submit<Scope, Chosen>(refusal != 0 ? calls::nop_number : call_number, arguments);
    if constexpr (Chosen::wave_wide) {
      if (refusal == -error::again) {
        if constexpr (!detached) finish(area, handle, wait_of<Chosen>);
        return perform<number, Scope, Alone<Chosen>>(call_number, arguments);
      }
    }
    if constexpr (Chosen::outcome == Outcome::async) {
      if (refusal == 0 && protocol::admit_ticket(area, transfer.block != no_block)) {
        return Answer(handle, transfer, wait_of<Chosen>);
      }
      const Reply reply = finish(area, handle, wait_of<Chosen>);
      move_out<number>(area, transfer, reply.value());
      return Answer::answered(refusal == 0 ? reply : Reply(refusal));
    } else if constexpr (detached) {
      if (transfer.block != no_block) {
        protocol::give_block(area, transfer.block,
                             handle.live() ? protocol::lent_to(handle.place, handle.generation)
                                           : protocol::block_free);
      }
      return handle.live() ? Reply(refusal) : shut_down();
    } else {
      const Reply reply = finish(area, handle, wait_of<Chosen>);
      move_out<number>(area, transfer, reply.value());
      return refusal == 0 ? reply : Reply(refusal);
    }
  } else {
    const Handle handle = submit<Scope, Chosen>(call_number, arguments);
    if constexpr (Chosen::outcome == Outcome::async) {
      if (protocol::admit_ticket(area, false)) {
        return Answer(handle, transfer, wait_of<Chosen>);
      }
      return Answer::answered(finish(area, handle, wait_of<Chosen>));
    } else if constexpr (detached) {
      return handle.live() ? Reply(0) : shut_down();
    } else {
      return finish(area, handle, wait_of<Chosen>);
    }
  }
}

// A reply as one word for broadcast: no system call answers below -4095, so transport errors may.
K2K_DEVICE constexpr std::int64_t encode(const Reply& reply) {
  if (reply.transport() == protocol::TransportError::none) return reply.value();
  return -(static_cast<std::int64_t>(reply.transport()) << 32);
}
K2K_DEVICE constexpr Reply decode(std::int64_t word) {
  if (word == -(static_cast<std::int64_t>(protocol::TransportError::shutdown) << 32)) {
    return Reply(-error::cancelled, protocol::TransportError::shutdown);
  }
  if (word == -(static_cast<std::int64_t>(protocol::TransportError::deadline) << 32)) {
    return Reply(-error::timed_out, protocol::TransportError::deadline);
  }
  return Reply(word);
}

// Words of Item::scratch. Strong calls are separated by their leading barrier; calls without a
// leading barrier use a word of their own, and a barrier after reading it.
inline constexpr int scratch_strong = 0;
inline constexpr int scratch_relaxed = 1;

// Gives item 0's reply to all items.
K2K_DEVICE inline Reply broadcast(const platform::Item& me, const Reply& mine, int word,
                                  bool guard) {
  if (me.rank == 0) me.scratch[word] = encode(mine);
  platform::barrier();
  const std::int64_t shared = me.scratch[word];
  if (guard) platform::barrier();
  return decode(shared);
}

template <std::uint16_t number, class Chosen>
K2K_DEVICE inline auto call_from_group(calls::Role row_role, std::uint16_t call_number,
                                       const Words& arguments) {
  using Answer = std::conditional_t<Chosen::outcome == Outcome::async, Ticket<number>, Reply>;
  const platform::Item& me = platform::current();
  const calls::Role role = role_of<WorkGroup, Chosen>(row_role);
  const bool strong_order = Chosen::order == Order::strong;
  const bool before = strong_order || role != calls::Role::producer;
  const bool after = strong_order || role != calls::Role::consumer;
  if (before) platform::barrier();
  Answer answer(Reply::pending());
  if (me.rank == 0) answer = perform<number, WorkGroup, Chosen>(call_number, arguments);
  if (!after) return answer;
  if constexpr (Chosen::outcome == Outcome::async) {
    platform::barrier();
    return answer;
  } else {
    return broadcast(me, answer, before ? scratch_strong : scratch_relaxed, !before);
  }
}

// Returns the number of groups that reached the site, including this one.
K2K_DEVICE inline std::uint32_t arrive(const protocol::AreaView& area, platform::KernelSite& site) {
  return protocol::device_add(area.device_scope, &site.arrived, std::uint32_t{1}) + 1;
}

template <std::uint16_t number, class Chosen>
K2K_DEVICE inline auto call_from_kernel(calls::Role row_role, std::uint32_t site_index,
                                        std::uint16_t call_number, const Words& arguments) {
  using Answer = std::conditional_t<Chosen::outcome == Outcome::async, Ticket<number>, Reply>;
#if defined(K2K_FOREIGN_KERNELS)
  static_assert(!std::is_same_v<Chosen, Chosen>,
                "kernel scope needs sites that are zeroed for each launch: launch the kernel by "
                "k2k::Runtime::launch(), or use work_item or work_group scope");
#endif
  const platform::Item& me = platform::current();
  const calls::Role role = role_of<Kernel, Chosen>(row_role);
  if (site_index >= platform::kernel_sites) return Answer(Reply(-error::invalid));
  platform::KernelSite& site = me.sites[site_index];
  if (role == calls::Role::consumer) {
    platform::barrier();  // All of this group has written; the last group has all the data.
    if (me.rank != 0) return Answer(Reply::pending());
    const std::uint32_t arrived = arrive(*me.area, site);
    if (arrived > me.groups) return Answer(Reply(-error::already));
    if (arrived < me.groups) return Answer(Reply::pending());
    return perform<number, Kernel, Chosen>(call_number, arguments);
  }
  if constexpr (Chosen::outcome == Outcome::blocking) {
    Reply reply;
    if (me.rank == 0) {
      const std::uint32_t arrived = arrive(*me.area, site);
      if (arrived > me.groups) {
        reply = Reply(-error::already);
      } else if (arrived == 1) {
        reply = perform<number, Kernel, Chosen>(call_number, arguments);
        site.value = encode(reply);
        protocol::device_store(&site.done, std::uint32_t{1});  // Pairs with the load below.
      } else {
        // The first group is on the device already, so this wait ends whatever the grid's size.
        while (protocol::device_load(&site.done) == 0) platform::yield();
        reply = decode(site.value);
      }
    }
    return broadcast(me, reply, scratch_relaxed, true);
  } else {
    return Answer(Reply(-error::invalid));  // Excluded at compile time by call().
  }
}

template <std::uint16_t number, class Scope, class Chosen>
K2K_DEVICE inline auto dispatch(calls::Role row_role, Scope scope, std::uint16_t call_number,
                                const Words& arguments) {
  check_options<Scope, Chosen>();
  if constexpr (Scope::scope == protocol::Scope::work_item) {
    return perform<number, Scope, Chosen>(call_number, arguments);
  } else if constexpr (Scope::scope == protocol::Scope::work_group) {
    return call_from_group<number, Chosen>(row_role, call_number, arguments);
  } else {
    return call_from_kernel<number, Chosen>(row_role, scope.site, call_number, arguments);
  }
}

// A call with a row; the generated wrappers call this.
template <std::uint16_t number, class Scope, class Chosen, class... Arguments>
K2K_DEVICE inline auto call(Scope scope, Chosen, Arguments... arguments) {
  constexpr calls::Row row = calls::row_with(number);
  static_assert(sizeof...(Arguments) <= protocol::argument_count);
  if constexpr (Scope::scope == protocol::Scope::kernel) {
    constexpr calls::Role role = role_of<Scope, Chosen>(row.role);
    static_assert(role != calls::Role::both,
                  "this call both takes and gives data: at kernel scope say which of the two is "
                  "meant, k2k::as_consumer (last group calls) or k2k::as_producer (first group)");
    static_assert(role == calls::Role::consumer || Chosen::outcome == Outcome::blocking,
                  "a kernel-scope producer call is blocking: every group waits for its data");
  }
  return dispatch<number, Scope, Chosen>(row.role, scope, number, Words{{word_of(arguments)...}});
}

}  // namespace k2k::device

namespace k2k {

// Any Linux system call by number (x86-64 numbers on every host). Nothing is copied: pointers must
// be host-visible. Otherwise K2K answers -EFAULT if the call has a typed wrapper, and Linux does if
// it has none; read, write, pread64 and pwrite64 also take registered memory. Work-group and kernel
// scope treat the call as both consumer and producer unless the options name a role.
template <
    class Scope, class Chosen, class... Arguments,
    class = std::enable_if_t<device::IsScope<Scope>::value && device::IsOptions<Chosen>::value>>
K2K_DEVICE inline auto syscall(Scope scope, Chosen, long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= protocol::argument_count,
                "a system call has at most six arguments");
  constexpr std::uint16_t raw = device::Ticket<0>::raw_number;
  if constexpr (Scope::scope == protocol::Scope::kernel) {
    static_assert(Chosen::role != RoleChoice::of_the_call,
                  "at kernel scope a generic call names its role: k2k::as_consumer (last group "
                  "calls) or k2k::as_producer (first group)");
    static_assert(Chosen::role == RoleChoice::consumer || Chosen::outcome == Outcome::blocking,
                  "a kernel-scope producer call is blocking: every group waits for its data");
  }
  const bool known = number >= 0 && number < raw;
  // An invalid number is also sent, so that the server counts and answers it: -ENOSYS.
  return device::dispatch<raw, Scope, Chosen>(
      calls::Role::both, scope,
      known || number == calls::nop_number ? static_cast<std::uint16_t>(number) : raw,
      device::Words{{device::word_of(arguments)...}});
}

}  // namespace k2k
