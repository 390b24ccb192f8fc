#pragma once
// The call of a function of the host program: its types, their signature as text, and its layout.
//
//   slot words   0 id of the name   1 id of the signature   2..4 see below   5 shape
//
//   in the slot  words 2..4 are the arguments; shape is 0. Such a call copies nothing.
//   framed       word 2 is the frame's address, word 3 its bytes; shape says how it is divided:
//                [a HostBuffer for each buffer][arguments][reply]
//
// Arguments and reply take whole words of 8 bytes. A reply of at most reply_bytes_in_answer bytes
// is the answer's value itself.
//
// Signature: "i32(f64,in u8,out s24)". i, u, f and s (any other trivially copyable type) carry the
// size; enumerations are their integers, bool is u8, pointers are u64; in, out and inout are
// buffers, counted in elements.
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/attributes.hpp"

namespace k2k {

// The buffers of a host function. `Out` arrives zeroed; elements that the function does not write
// are zero. After an error the contents of `Out` and `InOut` are unspecified.
template <class Element>
struct BufferArgument {
  Element* data = nullptr;
  std::size_t count = 0;  // Elements.
  [[nodiscard]] K2K_HD constexpr Element* begin() const { return data; }
  [[nodiscard]] K2K_HD constexpr Element* end() const { return data + count; }
  [[nodiscard]] K2K_HD constexpr std::size_t size() const { return count; }
  K2K_HD constexpr Element& operator[](std::size_t index) const { return data[index]; }
};
template <class T>
struct In : BufferArgument<const T> {};
template <class T>
struct Out : BufferArgument<T> {};
template <class T>
struct InOut : BufferArgument<T> {};

template <class T>
K2K_HD constexpr In<T> in(const T* data, std::size_t count) {
  return {{data, count}};
}
template <class T>
K2K_HD constexpr Out<T> out(T* data, std::size_t count) {
  return {{data, count}};
}
template <class T>
K2K_HD constexpr InOut<T> inout(T* data, std::size_t count) {
  return {{data, count}};
}

}  // namespace k2k

namespace k2k::calls {

enum class Direction : std::uint8_t { in, out, inout };

// A buffer in a frame.
struct HostBuffer {
  static constexpr std::uint64_t bytes_max = (std::uint64_t{1} << 62) - 1;

  std::uint64_t address = 0;
  std::uint64_t size = 0;  // bytes << 2 | direction

  [[nodiscard]] K2K_HD constexpr std::uint64_t bytes() const { return size >> 2; }
  [[nodiscard]] K2K_HD constexpr Direction direction() const {
    return static_cast<Direction>(size & 3);
  }
};

inline constexpr int host_id_word = 0;
inline constexpr int host_signature_word = 1;
inline constexpr int host_arguments_word = 2;  // The first argument word in the slot.
inline constexpr int host_frame_word = 2;
inline constexpr int host_frame_bytes_word = 3;
inline constexpr int host_shape_word = 5;

inline constexpr std::size_t host_bytes_in_slot = 24;
inline constexpr std::size_t reply_bytes_in_answer = 7;  // A value below zero is an errno.
inline constexpr std::size_t host_frame_bytes_max = 4096;
inline constexpr std::size_t host_buffers_max = host_frame_bytes_max / sizeof(HostBuffer);
inline constexpr std::size_t host_name_bytes_max = 127;

// Of k2k::print(), whose arguments carry their types (calls/print.hpp).
inline constexpr char print_name[] = "k2k.print";

K2K_HD constexpr std::size_t whole_words(std::size_t bytes) {
  return (bytes + 7) & ~std::size_t{7};
}

namespace host {

// Fowler, Noll, Vo: FNV-1a, 64 bits.
inline constexpr std::uint64_t hash_begin = 0xcbf29ce484222325;
K2K_HD constexpr std::uint64_t hash_with(std::uint64_t hash, char byte) {
  return (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
}

// Takes a signature's characters: `Sink` has put(char).
struct Hash {
  std::uint64_t value = hash_begin;
  K2K_HD constexpr void put(char byte) { value = hash_with(value, byte); }
};

template <class Sink>
K2K_HD constexpr void put_text(Sink& sink, const char* text) {
  for (; *text != '\0'; ++text) sink.put(*text);
}

template <class Sink>
K2K_HD constexpr void put_number(Sink& sink, std::size_t number) {
  std::size_t power = 1;
  while (number / power >= 10) power *= 10;
  for (; power != 0; power /= 10) sink.put(static_cast<char>('0' + number / power % 10));
}

template <class T, class = void>
struct Underlying {
  using Type = T;
};
template <class T>
struct Underlying<T, std::enable_if_t<std::is_enum_v<T>>> {
  using Type = std::underlying_type_t<T>;
};

template <class T>
K2K_HD constexpr char kind_of() {
  using Plain = typename Underlying<T>::Type;
  if (std::is_floating_point_v<Plain>) return 'f';
  if (std::is_pointer_v<Plain> || std::is_same_v<Plain, bool>) return 'u';
  if (std::is_integral_v<Plain>) return std::is_signed_v<Plain> ? 'i' : 'u';
  return 's';
}

template <class Sink, class T>
K2K_HD constexpr void put_type(Sink& sink) {
  if constexpr (std::is_void_v<T>) {
    put_text(sink, "void");
  } else {
    const char kind = kind_of<T>();
    sink.put(kind);
    put_number(sink, kind == 's' ? sizeof(T) : sizeof(T) * 8);
  }
}

template <class T>
struct Parameter {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_reference_v<T>,
                "a host function takes trivially copyable values, k2k::In, k2k::Out, k2k::InOut");
  static constexpr bool is_buffer = false;
  static constexpr bool is_result = false;
  static constexpr std::size_t bytes = sizeof(T);
  template <class Sink>
  K2K_HD static constexpr void put(Sink& sink) {
    put_type<Sink, T>(sink);
  }
};

template <class T, Direction direction_>
struct BufferParameter {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "the elements of a host function's buffer are trivially copyable");
  static constexpr bool is_buffer = true;
  static constexpr bool is_result = direction_ != Direction::in;
  static constexpr std::size_t bytes = 0;
  static constexpr Direction direction = direction_;
  template <class Sink>
  K2K_HD static constexpr void put(Sink& sink) {
    constexpr Direction in = Direction::in;
    put_text(sink, direction == in ? "in " : direction == Direction::out ? "out " : "inout ");
    put_type<Sink, T>(sink);
  }
};
template <class T>
struct Parameter<In<T>> : BufferParameter<T, Direction::in> {};
template <class T>
struct Parameter<Out<T>> : BufferParameter<T, Direction::out> {};
template <class T>
struct Parameter<InOut<T>> : BufferParameter<T, Direction::inout> {};

template <class Sink, class T>
K2K_HD constexpr void put_parameter(Sink& sink, bool& first) {
  if (!first) sink.put(',');
  first = false;
  Parameter<T>::put(sink);
}

template <class Sink, class Reply, class... Arguments>
K2K_HD constexpr void put_signature(Sink& sink) {
  put_type<Sink, Reply>(sink);
  sink.put('(');
  [[maybe_unused]] bool first = true;
  (put_parameter<Sink, Arguments>(sink, first), ...);
  sink.put(')');
}

template <class T>
struct BytesOf {
  static constexpr std::size_t value = sizeof(T);
};
template <>
struct BytesOf<void> {
  static constexpr std::size_t value = 0;
};

}  // namespace host

// The id of a function's name.
K2K_HD constexpr std::uint64_t host_id(const char* name) {
  host::Hash hash;
  host::put_text(hash, name);
  return hash.value;
}

// The layout of a call's words and frame.
struct HostLayout {
  std::size_t buffers = 0;
  std::size_t argument_bytes = 0;  // In whole words.
  std::size_t reply_bytes = 0;

  // Nothing but the slot is needed.
  [[nodiscard]] K2K_HD constexpr bool in_slot() const {
    return buffers == 0 && argument_bytes <= host_bytes_in_slot && replies_in_answer();
  }
  [[nodiscard]] K2K_HD constexpr bool replies_in_answer() const {
    return reply_bytes <= reply_bytes_in_answer;
  }
  // Offsets of the arguments, of the reply, and of the frame's end.
  [[nodiscard]] K2K_HD constexpr std::size_t arguments_at() const {
    return buffers * sizeof(HostBuffer);
  }
  [[nodiscard]] K2K_HD constexpr std::size_t reply_at() const {
    return arguments_at() + argument_bytes;
  }
  [[nodiscard]] K2K_HD constexpr std::size_t frame_bytes() const {
    return reply_at() + (replies_in_answer() ? 0 : whole_words(reply_bytes));
  }

  // As the last word of the slot.
  static constexpr std::uint64_t framed = std::uint64_t{1} << 63;
  [[nodiscard]] K2K_HD constexpr std::uint64_t shape() const {
    return in_slot() ? 0 : framed | reply_bytes << 16 | buffers;
  }
};

K2K_HD constexpr bool is_framed(std::uint64_t shape) { return (shape & HostLayout::framed) != 0; }
K2K_HD constexpr HostLayout layout_of(std::uint64_t shape, std::uint64_t frame_bytes) {
  HostLayout layout;
  layout.buffers = shape & 0xffff;
  layout.reply_bytes = shape >> 16 & 0xffff;
  const std::size_t others = layout.frame_bytes();
  layout.argument_bytes = frame_bytes < others ? 0 : frame_bytes - others;
  return layout;
}

namespace host {

template <class Reply, class... Arguments>
K2K_HD constexpr HostLayout layout_of_types() {
  HostLayout layout;
  layout.buffers = (std::size_t{0} + ... + (Parameter<Arguments>::is_buffer ? 1 : 0));
  layout.argument_bytes = (std::size_t{0} + ... + whole_words(Parameter<Arguments>::bytes));
  layout.reply_bytes = BytesOf<Reply>::value;
  return layout;
}

template <class Reply, class... Arguments>
K2K_HD constexpr std::uint64_t signature_of_types() {
  Hash hash;
  put_signature<Hash, Reply, Arguments...>(hash);
  return hash.value;
}

}  // namespace host

// The layout that the C++ types of a call determine.
template <class Reply, class... Arguments>
struct HostTypes {
  static_assert(std::is_void_v<Reply> || std::is_trivially_copyable_v<Reply>,
                "the reply of a host function is trivially copyable");
  static constexpr HostLayout layout = host::layout_of_types<Reply, Arguments...>();
  static_assert(layout.frame_bytes() <= host_frame_bytes_max,
                "arguments and reply of a host function take at most 4096 bytes: pass a buffer");
  static constexpr std::uint64_t signature = host::signature_of_types<Reply, Arguments...>();
};

}  // namespace k2k::calls

namespace k2k {

// A function of the host by its name.
struct HostName {
  std::uint64_t id = 0;
  K2K_HD constexpr HostName(const char* name) : id(calls::host_id(name)) {}
};

// A function of the host by name and type: declared once, used by both sides.
//
//   inline constexpr k2k::HostFunction<double(int, k2k::In<float>)> weigh{"weigh"};
template <class Signature>
struct HostFunction;
template <class Reply_, class... Arguments>
struct HostFunction<Reply_(Arguments...)> {
  using Reply = Reply_;
  const char* name;
  std::uint64_t id;
  K2K_HD constexpr explicit HostFunction(const char* name_)
      : name(name_), id(calls::host_id(name_)) {}
};

}  // namespace k2k
