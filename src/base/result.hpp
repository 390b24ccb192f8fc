#pragma once
// External failures as values: the operation that failed, the value, the reason, and the remedy.
//
// `Result<T>` holds a T or an Error; `Status` is a Result without a value. The caller must check
// both.

#include <optional>
#include <string>
#include <utility>

#include "base/contract.hpp"

namespace k2k {

struct Error {
  int code = 0;         // A positive errno; 0 only in a default-constructed Error.
  std::string message;  // One line for the user, including the remedy.
};

template <class T>
class [[nodiscard]] Result {
 public:
  // Both conversions are implicit on purpose: `return value;` and `return Error{...};`.
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // Expects ok().
  [[nodiscard]] T& value() & { return K2K_EXPECT(ok()), *value_; }
  [[nodiscard]] const T& value() const& { return K2K_EXPECT(ok()), *value_; }
  // By value, so that `for (x : f().value())` keeps the sequence alive.
  [[nodiscard]] T value() && { return K2K_EXPECT(ok()), std::move(*value_); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T operator*() && { return std::move(*this).value(); }

  // Expects !ok().
  [[nodiscard]] const Error& error() const { return K2K_EXPECT(!ok()), error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  // Expects !ok().
  [[nodiscard]] const Error& error() const { return K2K_EXPECT(!ok()), *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace k2k
