// Functions that Runtime::provide() must not take, with the expected message. Run as
// src/device/refusals is, but as C++20.

#include <k2k/runtime.hpp>
#include <string>

namespace {

constexpr k2k::HostFunction<double(int, k2k::In<float>)> weigh{"weigh"};
struct Point {
  int x;
  int y;
};

}  // namespace

void refused(k2k::Runtime& runtime) {
#if REFUSED == 0  // Everything that is allowed, so that a refusal below is not a broken include.
  (void)runtime.provide(weigh, [](int, k2k::In<float>) { return 1.0; });
  (void)runtime.provide("note", [](const Point& point, k2k::Out<char>) { return point; });
  (void)runtime.provide("status", [](int) -> k2k::Result<double> { return 1.0; });
#elif REFUSED == 1
  (void)runtime.provide("change", [](int& value) { ++value; });
  // expect: a host function takes values: take a k2k::Out or k2k::InOut to give results
#elif REFUSED == 2
  (void)runtime.provide("text", [](const std::string&) {});
  // expect: a host function takes trivially copyable values
#elif REFUSED == 3
  (void)runtime.provide(weigh, [](int, k2k::In<float>) { return 1; });
  // expect: the function returns another type than the declared signature
#elif REFUSED == 4
  (void)runtime.provide(weigh, [](const char*) { return 1.0; });
  // expect: the function cannot be called with the arguments of the declared signature
#endif
  static_cast<void>(runtime);
}
