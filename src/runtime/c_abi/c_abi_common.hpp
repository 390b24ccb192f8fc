#pragma once
// Shared by all parts of the C ABI: errors become negative errnos with a line of text, and no
// exception leaves the library.
//
// Threading: any; the message is the calling thread's own.

#include <cerrno>
#include <cstddef>
#include <exception>
#include <k2k/runtime.hpp>
#include <new>
#include <string>

#include "base/result.hpp"
#include "runtime/settings/config.hpp"

struct k2k_runtime {
  k2k::Runtime runtime;
};
struct k2k_options {
  k2k::ConfigInputs inputs;
};

namespace k2k::c_abi {

// Keeps the message for k2k_last_error(). The negative errno; -EIO where `code` is none.
int failed(int code, const char* message) noexcept;
inline int failed(const Error& error) noexcept { return failed(error.code, error.message.c_str()); }
// -EINVAL: `what` is null and may not be.
int missing(const char* what) noexcept;
[[nodiscard]] const char* last_error() noexcept;

// For the ..._json functions: as k2k.h describes k2k_stats_json().
int copy_out(const std::string& text, char* buffer, std::size_t bytes, std::size_t* needed);

template <class Body>
auto guarded(const Body& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failed(ENOMEM, "out of memory");
  } catch (const std::exception& error) {
    return failed(EIO, error.what());
  } catch (...) {
    return failed(EIO, "an exception of unknown type");
  }
}

}  // namespace k2k::c_abi
