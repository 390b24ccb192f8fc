#pragma once
// Formatted text from kernels.
//
//   k2k::print("group {} found {} of {:.3f}\n", k2k::group_rank(), count, value);
//   k2k::print(k2k::work_group, "{} items\n", k2k::group_size());
//   k2k::print_to(k2k::work_item, 2, "{}\n", k2k::in(bytes, count));   // Zero bytes, too.
//
// The host formats and calls write(2) until the whole text is written, so there is no buffer on the
// device that could overflow. Two prints of one runtime to one descriptor never mix. A blocking
// print returns once its text is written: the prints of a work-item keep their order.
//
// Returns the bytes written, or a negative errno: -EINVAL for a format that does not suit the
// arguments (C++17 only: since C++20 it does not compile), -EMSGSIZE for text that must be copied
// and takes more than 8 KiB together, and those of write(2).

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "calls/print.hpp"
#include "device/host_call.hpp"

#if defined(__cpp_consteval)
#define K2K_CHECKED_FORMAT consteval
#else
#define K2K_CHECKED_FORMAT constexpr
#endif

namespace k2k {

namespace device {

// Calls of these in a constant expression are compile errors that carry their names.
K2K_HD inline void print_format_has_an_open_brace() {}
K2K_HD inline void print_has_fewer_arguments_than_places_in_its_format() {}
K2K_HD inline void print_has_more_arguments_than_places_in_its_format() {}
K2K_HD inline void print_format_has_options_that_do_not_suit_the_argument() {}

template <class... Arguments>
struct PrintFormat {
  const char* text;
  std::size_t size;

  template <std::size_t size_with_end>
  K2K_HD K2K_CHECKED_FORMAT PrintFormat(const char (&format)[size_with_end])
      : text(format), size(size_with_end - 1) {
#if defined(__cpp_consteval)
    constexpr calls::PrintType types[] = {calls::print_type_of<Arguments>()...,
                                          calls::PrintType::text};
    switch (calls::print_fault(format, size, types, sizeof...(Arguments))) {
      case calls::PrintFault::none:
        break;
      case calls::PrintFault::open_brace:
        print_format_has_an_open_brace();
        break;
      case calls::PrintFault::too_few:
        print_has_fewer_arguments_than_places_in_its_format();
        break;
      case calls::PrintFault::too_many:
        print_has_more_arguments_than_places_in_its_format();
        break;
      case calls::PrintFault::wrong_options:
        print_format_has_options_that_do_not_suit_the_argument();
        break;
    }
#endif
  }
};

template <class T>
using Same = std::common_type_t<T>;  // No deduction from this parameter.

template <class T>
K2K_DEVICE inline In<char> print_text(const T& value) {
  if constexpr (std::is_same_v<T, In<char>>) {
    return value;
  } else {
    std::size_t length = 0;
    while (value != nullptr && value[length] != '\0') ++length;
    return {value, length};
  }
}

template <class T>
K2K_DEVICE inline std::uint64_t print_bits(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto number = static_cast<double>(value);
    std::uint64_t bits = 0;
    copy_bytes(&bits, &number, sizeof(bits));
    return bits;
  } else {
    return word_of(value);
  }
}

template <class T>
K2K_DEVICE inline void add_print_argument(FrameFiller& filler, const T& value) {
  constexpr calls::PrintType type = calls::print_type_of<T>();
  calls::PrintValue carried{static_cast<std::uint64_t>(type), 0};
  if constexpr (type == calls::PrintType::text) {
    filler.add(print_text(value));
  } else {
    carried.bits = print_bits(value);
  }
  filler.add(carried);
}

template <class... Arguments>
K2K_HD constexpr calls::HostLayout print_layout() {
  calls::HostLayout layout;
  layout.buffers = (std::size_t{1} + ... +
                    (calls::print_type_of<Arguments>() == calls::PrintType::text ? 1 : 0));
  layout.argument_bytes = sizeof...(Arguments) * sizeof(calls::PrintValue);
  return layout;
}

template <class Scope, class Chosen, class... Arguments>
K2K_DEVICE inline Reply print_with(Scope scope, Chosen chosen, int descriptor,
                                   const PrintFormat<Arguments...>& format,
                                   const Arguments&... arguments) {
  static_assert(Chosen::outcome != Outcome::async,
                "a print is blocking or detached: its frame lies on the caller's stack");
  constexpr calls::HostLayout layout = print_layout<Arguments...>();
  static_assert(layout.frame_bytes() <= calls::host_frame_bytes_max,
                "a print takes about 250 numbers or 125 texts: print in parts");
  alignas(8) std::byte frame[layout.frame_bytes()];
  FrameFiller filler(frame, layout.arguments_at());
  filler.add(In<char>{{format.text, format.size}});
  (add_print_argument(filler, arguments), ...);
  return call<calls::host_call_number>(scope, chosen, calls::host_id(calls::print_name), descriptor,
                                       &frame[0], layout.frame_bytes(), 0, layout.shape());
}

}  // namespace device

// To a descriptor.
template <
    class Scope, class Chosen, class... Arguments,
    class = std::enable_if_t<device::IsScope<Scope>::value && device::IsOptions<Chosen>::value>>
K2K_DEVICE inline Reply print_to(Scope scope, Chosen chosen, int descriptor,
                                 device::PrintFormat<device::Same<Arguments>...> format,
                                 Arguments... arguments) {
  return device::print_with<Scope, Chosen, Arguments...>(scope, chosen, descriptor, format,
                                                         arguments...);
}
template <class Scope, class... Arguments, class = std::enable_if_t<device::IsScope<Scope>::value>>
K2K_DEVICE inline Reply print_to(Scope scope, int descriptor,
                                 device::PrintFormat<device::Same<Arguments>...> format,
                                 Arguments... arguments) {
  return device::print_with<Scope, std::remove_const_t<decltype(strong)>, Arguments...>(
      scope, strong, descriptor, format, arguments...);
}

// To the standard output.
template <
    class Scope, class Chosen, class... Arguments,
    class = std::enable_if_t<device::IsScope<Scope>::value && device::IsOptions<Chosen>::value>>
K2K_DEVICE inline Reply print(Scope scope, Chosen chosen,
                              device::PrintFormat<device::Same<Arguments>...> format,
                              Arguments... arguments) {
  return device::print_with<Scope, Chosen, Arguments...>(scope, chosen, 1, format, arguments...);
}
template <class Scope, class... Arguments, class = std::enable_if_t<device::IsScope<Scope>::value>>
K2K_DEVICE inline Reply print(Scope scope, device::PrintFormat<device::Same<Arguments>...> format,
                              Arguments... arguments) {
  return device::print_with<Scope, std::remove_const_t<decltype(strong)>, Arguments...>(
      scope, strong, 1, format, arguments...);
}
// By this work-item.
template <class... Arguments>
K2K_DEVICE inline Reply print(device::PrintFormat<device::Same<Arguments>...> format,
                              Arguments... arguments) {
  return device::print_with<WorkItem, std::remove_const_t<decltype(strong)>, Arguments...>(
      work_item, strong, 1, format, arguments...);
}

}  // namespace k2k

#undef K2K_CHECKED_FORMAT
