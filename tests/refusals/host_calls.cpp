// Calls of host functions, and prints, that must not compile, with the expected message. Run as
// src/device/refusals is, but as C++20, which checks formats.

#include <k2k/device.hpp>

namespace {

using k2k::work_item;

constexpr k2k::HostFunction<double(int, k2k::In<float>)> weigh{"weigh"};
struct Large {
  char bytes[4096];
};
struct Point {
  int x;
  int y;
};
struct Text {  // Not trivially copyable.
  Text() = default;
  Text(const Text& other) : text(other.text) {}
  const char* text = "";
};

}  // namespace

void refused(const float* values, char* text) {
#if REFUSED == 0  // Everything that is allowed, so that a refusal below is not a broken include.
  (void)k2k::host_call(work_item, weigh, short{1}, k2k::in(values, 2));
  (void)k2k::host_call<double>(k2k::work_group, k2k::relaxed, "weigh", 1, k2k::in(values, 2));
  (void)k2k::host_call<void>(work_item, k2k::detached, "note", Point{1, 2}, k2k::in(text, 3));
  (void)k2k::host_call<Large>(work_item, "large");
  (void)k2k::host_call<float>(k2k::kernel(0), k2k::relaxed | k2k::as_producer, "small");
  k2k::print("{} {:>4} {:.2f} {{}}\n", 1, text, 2.0);
  k2k::print_to(work_item, k2k::detached, 2, "{}", k2k::in(text, 3));
#elif REFUSED == 1
  (void)k2k::host_call<int>(work_item, "text", Text());
  // expect: a host function takes trivially copyable values
#elif REFUSED == 2
  (void)k2k::host_call(work_item, weigh, "one", k2k::in(values, 2));
  // expect: no matching function for call to
#elif REFUSED == 3
  (void)k2k::host_call(work_item, weigh, 1);
  // expect: no matching function for call to
#elif REFUSED == 4
  (void)k2k::host_call<Text>(work_item, "text");
  // expect: the reply of a host function is trivially copyable
#elif REFUSED == 5
  (void)k2k::host_call<int>(work_item, "large", Large{}, 1);
  // expect: arguments and reply of a host function take at most 4096 bytes: pass a buffer
#elif REFUSED == 6
  (void)k2k::host_call<int>(work_item, k2k::async, "later");
  // expect: a host call is blocking or detached
#elif REFUSED == 7
  (void)k2k::host_call<void>(work_item, k2k::detached, "fill", k2k::out(text, 3));
  // expect: a detached host call returns nothing
#elif REFUSED == 8
  (void)k2k::host_call<double>(k2k::kernel(0), k2k::relaxed | k2k::as_producer, "large");
  // expect: a kernel-scope producer call replies with at most 7 bytes
#elif REFUSED == 9
  (void)k2k::host_call<void>(work_item, "fill", k2k::out(static_cast<Text*>(nullptr), 1));
  // expect: the elements of a host function's buffer are trivially copyable
#elif REFUSED == 10
  k2k::print("{} {}\n", 1);
  // expect: print_has_fewer_arguments_than_places_in_its_format
#elif REFUSED == 11
  k2k::print("{}\n", 1, 2);
  // expect: print_has_more_arguments_than_places_in_its_format
#elif REFUSED == 12
  k2k::print("{\n", 1);
  // expect: print_format_has_options_that_do_not_suit_the_argument
#elif REFUSED == 13
  k2k::print("}\n");
  // expect: print_format_has_an_open_brace
#elif REFUSED == 14
  k2k::print("{:.2f}\n", 1);
  // expect: print_format_has_options_that_do_not_suit_the_argument
#elif REFUSED == 15
  k2k::print("{}\n", Point{1, 2});
  // expect: k2k::print takes numbers, characters, pointers, and text
#elif REFUSED == 16
  k2k::print(work_item, k2k::async, "later\n");
  // expect: a print is blocking or detached
#endif
  static_cast<void>(values);
  static_cast<void>(text);
}
