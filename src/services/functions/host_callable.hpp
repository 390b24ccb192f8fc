#pragma once
// A host function of a C++ callable: its signature follows from its types.
//
// The callable takes trivially copyable values, In, Out and InOut (calls/host_call.hpp). It returns
// void, a trivially copyable value, or a Status or Result of them, whose error's code the kernel
// gets.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/attributes.hpp"
#include "base/result.hpp"
#include "calls/host_call.hpp"
#include "services/functions/host_function.hpp"

namespace k2k::services {

// The type that a kernel gets for the type that a callable returns.
template <class Returned>
struct HostReplyOf {
  using Type = Returned;
};
template <>
struct HostReplyOf<Status> {
  using Type = void;
};
template <class Value>
struct HostReplyOf<Result<Value>> {
  using Type = Value;
};

// The function type of kernels for a function with these types.
template <class Returned, class... Arguments>
struct HostTypeOfFunction {
  static_assert(((!std::is_lvalue_reference_v<Arguments> ||
                  std::is_const_v<std::remove_reference_t<Arguments>>) &&
                 ...),
                "a host function takes values: take a k2k::Out or k2k::InOut to give results");
  using Type = typename HostReplyOf<Returned>::Type(std::remove_cvref_t<Arguments>...);
};

// Of a pointer to a function, or to an operator().
template <class Pointer>
struct HostTypeOfPointer;
template <class Returned, class... Arguments>
struct HostTypeOfPointer<Returned (*)(Arguments...)> : HostTypeOfFunction<Returned, Arguments...> {
};
template <class Returned, class... Arguments>
struct HostTypeOfPointer<Returned (*)(Arguments...) noexcept>
    : HostTypeOfFunction<Returned, Arguments...> {};
template <class Owner, class Returned, class... Arguments>
struct HostTypeOfPointer<Returned (Owner::*)(Arguments...)>
    : HostTypeOfFunction<Returned, Arguments...> {};
template <class Owner, class Returned, class... Arguments>
struct HostTypeOfPointer<Returned (Owner::*)(Arguments...) const>
    : HostTypeOfFunction<Returned, Arguments...> {};
template <class Owner, class Returned, class... Arguments>
struct HostTypeOfPointer<Returned (Owner::*)(Arguments...) noexcept>
    : HostTypeOfFunction<Returned, Arguments...> {};
template <class Owner, class Returned, class... Arguments>
struct HostTypeOfPointer<Returned (Owner::*)(Arguments...) const noexcept>
    : HostTypeOfFunction<Returned, Arguments...> {};

// The function type of a callable, for kernels: Type is Reply(Arguments...). A template or an
// overloaded operator() has none: provide it with a k2k::HostFunction.
template <class Callable, bool is_pointer = std::is_pointer_v<Callable>>
struct HostTypeOf {
  using Type = typename HostTypeOfPointer<decltype(&Callable::operator())>::Type;
};
template <class Callable>
struct HostTypeOf<Callable, true> {
  using Type = typename HostTypeOfPointer<Callable>::Type;
};

// Reads a call's arguments in their order.
class HostReader {
 public:
  explicit HostReader(const HostArguments& arguments)
      : buffer_(arguments.buffers), value_(arguments.values) {}

  template <class T>
  T next() {
    if constexpr (calls::host::Parameter<T>::is_buffer) {
      using Element = std::remove_pointer_t<decltype(T{}.data)>;
      const HostSpan& span = *buffer_++;
      return {static_cast<Element*>(span.data), span.bytes / sizeof(Element)};
    } else {
      struct Bytes {
        std::byte byte[sizeof(T)];
      } bytes;
      std::memcpy(&bytes, value_, sizeof(T));
      value_ += calls::whole_words(sizeof(T));
      return __builtin_bit_cast(T, bytes);
    }
  }

 private:
  const HostSpan* buffer_;
  const std::byte* value_;
};

// Writes the reply: 0, or the negative errno of a Status or Result.
template <class Returned>
std::int64_t give_reply(std::byte* reply, const Returned& returned) {
  using Reply = typename HostReplyOf<Returned>::Type;
  if constexpr (std::is_same_v<Reply, Returned>) {
    std::memcpy(reply, &returned, sizeof(Returned));
  } else {
    if (!returned) return returned.error().code > 0 ? -returned.error().code : -EIO;
    if constexpr (!std::is_void_v<Reply>) std::memcpy(reply, &returned.value(), sizeof(Reply));
  }
  return 0;
}

template <class Type>
struct HostCallable;
template <class Reply, class... Arguments>
struct HostCallable<Reply(Arguments...)> {
  static_assert(calls::HostTypes<Reply, Arguments...>::signature != 0);  // Checks the types.

  template <class Callable>
  static HostFunction function(std::string name, Callable callable, HostClass host_class) {
    static_assert(std::is_invocable_v<Callable&, Arguments...>,
                  "the function cannot be called with the arguments of the declared signature");
    using Returned = std::invoke_result_t<Callable&, Arguments...>;
    static_assert(std::is_same_v<typename HostReplyOf<Returned>::Type, Reply>,
                  "the function returns another type than the declared signature");
    HostFunction made{std::move(name), signature(), host_class, {}};
    if constexpr (std::is_pointer_v<Callable>) {
      if (callable == nullptr) return made;
    }
    made.body = [callable =
                     std::move(callable)](const HostArguments& given) mutable -> std::int64_t {
      HostReader reader(given);
      // Braces: in the order of the parameters.
      std::tuple<Arguments...> arguments{reader.next<Arguments>()...};
      if constexpr (std::is_void_v<Returned>) {
        std::apply(callable, arguments);
        return 0;
      } else {
        return give_reply(given.reply, std::apply(callable, arguments));
      }
    };
    return made;
  }

 private:
  // The functions that fill a sink are also device code, so nvcc wants sinks that are (a string,
  // which grows, is not).
  struct Length {
    std::size_t value = 0;
    K2K_HD constexpr void put(char) { ++value; }
  };
  struct Writer {
    char* next;
    K2K_HD constexpr void put(char byte) { *next++ = byte; }
  };
  static std::string signature() {
    Length length;
    calls::host::put_signature<Length, Reply, Arguments...>(length);
    std::string text(length.value, '\0');
    Writer writer{text.data()};
    calls::host::put_signature<Writer, Reply, Arguments...>(writer);
    return text;
  }
};

}  // namespace k2k::services
