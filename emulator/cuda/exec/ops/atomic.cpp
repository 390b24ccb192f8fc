// atom, red, fence, membar. A read-modify-write is a loop of compare-exchange in the order of the
// instruction (relaxed if it has none); its scope is the whole system.

#include <algorithm>
#include <atomic>
#include <bit>
#include <string_view>

#include "emulator/cuda/exec/ops/access.hpp"
#include "emulator/cuda/exec/ops/decoding.hpp"
#include "emulator/cuda/exec/ops/dispatch.hpp"
#include "emulator/cuda/exec/ops/real_formats.hpp"
#include "emulator/cuda/exec/ops/wide.hpp"

namespace k2k::emulator::exec {

namespace {

using ptx::Space;
using ptx::Type;

template <class T>
using Word = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class T>
bool exchange_if(Word<T>* word, Word<T>& expected, Word<T> desired, Order order) {
  switch (order) {
    case Order::relaxed:
      return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED);
    case Order::acquire:
      return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_ACQUIRE);
    case Order::release:
      return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_RELEASE,
                                         __ATOMIC_RELAXED);
    default:
      return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE);
  }
}

struct AtomAdd {
  template <class T>
  static T of(T old, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return old + b;
    } else {
      return static_cast<T>(static_cast<Word<T>>(old) + static_cast<Word<T>>(b));
    }
  }
};
struct AtomExchange {
  template <class T>
  static T of(T, T b) {
    return b;
  }
};
struct AtomIncrement {
  template <class T>
  static T of(T old, T b) {
    return old >= b ? T{0} : static_cast<T>(old + 1);
  }
};
struct AtomDecrement {
  template <class T>
  static T of(T old, T b) {
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  }
};

template <class T>
Word<T>* target(Lane& lane, const Op& op) {
  return reinterpret_cast<Word<T>*>(reach(lane, op, sizeof(T)));
}

template <class T, class F>
void modify(Lane& lane, const Op& op) {
  Word<T>* const word = target<T>(lane, op);
  if (word == nullptr) return;
  const T operand = get<T>(lane, op.b);
  Word<T> seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!exchange_if<T>(word, seen,
                         std::bit_cast<Word<T>>(F::template of<T>(std::bit_cast<T>(seen), operand)),
                         order_in(op))) {
  }
  put<T>(lane, op.to, std::bit_cast<T>(seen));
}
template <class T>
void compare_and_swap(Lane& lane, const Op& op) {
  Word<T>* const word = target<T>(lane, op);
  if (word == nullptr) return;
  Word<T> seen = get<T>(lane, op.b);
  exchange_if<T>(word, seen, get<T>(lane, op.c), order_in(op));
  put<T>(lane, op.to, seen);
}
// atom.add.noftz.f16, f16x2, bf16, bf16x2. flags bit 8: bf16.
template <class T>
void add_halves(Lane& lane, const Op& op) {
  Word<T>* const word = target<T>(lane, op);
  if (word == nullptr) return;
  const T operand = get<T>(lane, op.b);
  const bool brain = (op.flags & 256) != 0;
  const auto value = [&](std::uint16_t bits) {
    return static_cast<double>(brain ? float_of_brain(bits) : float_of_half(bits));
  };
  Word<T> seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  Word<T> sum = 0;
  do {
    sum = 0;
    for (std::size_t shift = 0; shift < 8 * sizeof(T); shift += 16) {
      const double both = value(static_cast<std::uint16_t>(seen >> shift)) +
                          value(static_cast<std::uint16_t>(operand >> shift));
      const std::uint16_t bits =
          brain ? brain_of(both, Rounding::nearest) : half_of(both, Rounding::nearest);
      sum = static_cast<Word<T>>(sum | static_cast<Word<T>>(Word<T>{bits} << shift));
    }
  } while (!exchange_if<T>(word, seen, sum, order_in(op)));
  put<T>(lane, op.to, seen);
}

void fence(Lane&, const Op& op) {
  if (op.flags == 0) {
    std::atomic_thread_fence(std::memory_order_acq_rel);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

template <class F>
bool by_type(Decoding& with, Type type) {
  const auto pick = [&]<class T>(std::type_identity<T>) {
    if constexpr (sizeof(T) >= 4) with.op.run = &modify<T, F>;
  };
  return ptx::bytes_of(type) >= 4 && (for_integer(type, pick) || for_bits(type, pick));
}

bool decode_modify(Decoding& with, bool returns) {
  const Space space =
      with.take("global") ? Space::global : with.take_any_shared().value_or(Space::generic);
  const std::size_t order = with.take_one({"relaxed", "acquire", "release", "acq_rel"});
  with.op.flags =
      static_cast<std::uint32_t>(space) | static_cast<std::uint32_t>(order < 4 ? order : 0) << 4;
  with.op.access.scope = with.take_scope().value_or(Scope::device);
  with.take("noftz");
  const std::size_t what =
      with.take_one({"add", "exch", "and", "or", "xor", "min", "max", "inc", "dec", "cas"});
  const Type type = with.take_type();
  const std::size_t first = returns ? 1 : 0;
  Access& access = with.op.access;
  access.kind = what == 9 ? Access::Kind::compare : Access::Kind::modify;
  access.space = space;
  access.strong = true;
  access.acquires = order == 1 || order == 3;
  access.releases = order == 2 || order == 3;
  access.bytes = static_cast<std::uint8_t>(ptx::bytes_of(type));
  with.need_count(first + (what == 9 ? 3 : 2), first + (what == 9 ? 3 : 2));
  if (returns && type != Type::b128) with.op.to = with.destination(0);
  with.op.a = with.address(first, space, with.op.immediate);
  if (type == Type::b128) {
    if (!returns) return false;
    with.op.b = with.wide_source(with.operand(2));
    with.op.to = with.wide_destination(with.operand(0));
    if (what == 9) with.op.c = with.wide_source(with.operand(3));
    with.op.run = what == 9 ? &swap_wide_if : &exchange_wide;
    return what == 9 || what == 1;
  }
  with.op.b = with.source(first + 1, type);
  switch (what) {
    case 0:
      if (type == Type::f16x2 || type == Type::bf16x2 || type == Type::f16 || type == Type::bf16) {
        if (type == Type::bf16 || type == Type::bf16x2) with.op.flags |= 256;
        with.op.run =
            ptx::bytes_of(type) == 4 ? &add_halves<std::uint32_t> : &add_halves<std::uint16_t>;
        return true;
      }
      if (for_real(type,
                   [&]<class T>(std::type_identity<T>) { with.op.run = &modify<T, AtomAdd>; })) {
        return true;
      }
      return by_type<AtomAdd>(with, type);
    case 1:
      return by_type<AtomExchange>(with, type);
    case 2:
      return by_type<And>(with, type);
    case 3:
      return by_type<Or>(with, type);
    case 4:
      return by_type<Xor>(with, type);
    case 5:
      return by_type<Minimum>(with, type);
    case 6:
      return by_type<Maximum>(with, type);
    case 7:
      with.op.run = &modify<std::uint32_t, AtomIncrement>;
      return type == Type::u32;
    case 8:
      with.op.run = &modify<std::uint32_t, AtomDecrement>;
      return type == Type::u32;
    case 9:
      with.op.c = with.source(first + 2, type);
      return returns && for_bits(type, [&]<class T>(std::type_identity<T>) {
               with.op.run = &compare_and_swap<T>;
             });
    default:
      return false;
  }
}

}  // namespace

bool decode_atomic(Decoding& with) {
  const std::string& name = with.opcode();
  if (name == "atom" || name == "red") {
    if (!decode_modify(with, name == "atom")) with.refuse("this form is not known");
    return true;
  }
  if (name != "fence" && name != "membar") return false;
  with.need_count(0, 0);
  // Between the proxies of accesses, of which there is one here.
  if (with.take("proxy")) {
    with.take_one({"async", "alias"});
    with.take_one({"global", "shared::cta", "shared::cluster"});
    with.op.run = &nothing;
    return true;
  }
  if (with.take("mbarrier_init")) {
    with.op.run = &nothing;
    if (!with.take("release") || !with.take("cluster")) with.refuse("this form is not known");
    return true;
  }
  // A fence without an order, and membar, are the strongest.
  const std::size_t order = with.take_one({"acq_rel", "acquire", "release"});
  const bool weaker = order < 3;
  with.take("sc");
  with.op.flags = weaker ? 0 : 1;
  with.op.access.kind = Access::Kind::fence;
  with.op.access.acquires = order != 2;
  with.op.access.releases = order != 1;
  const std::optional<Scope> scope = with.take("gl") ? Scope::device : with.take_scope();
  if (!scope) with.refuse("it has no scope");
  with.op.access.scope = *scope;
  with.op.run = &fence;
  return true;
}

}  // namespace k2k::emulator::exec
