#include "runtime/c_abi/c_abi_common.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace k2k::c_abi {

namespace {

// A message that does not fit is cut: there may be no memory to say that there is none.
struct LastError {
  char text[512] = "";
  void set(const char* message) noexcept {
    const std::size_t length = std::min(std::strlen(message), sizeof(text) - 1);
    std::memcpy(text, message, length);
    text[length] = '\0';
  }
};
thread_local LastError last;

}  // namespace

int failed(int code, const char* message) noexcept {
  last.set(message);
  return code > 0 ? -code : -EIO;
}

int missing(const char* what) noexcept {
  char message[128];
  std::snprintf(message, sizeof(message), "%s is null; pass one", what);
  return failed(EINVAL, message);
}

const char* last_error() noexcept { return last.text; }

int copy_out(const std::string& text, char* buffer, std::size_t bytes, std::size_t* needed) {
  if (needed != nullptr) *needed = text.size() + 1;
  if (bytes <= text.size()) {
    if (bytes > 0) buffer[0] = '\0';
    return failed(ERANGE, "the buffer is too small; pass one of *needed bytes");
  }
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return 0;
}

}  // namespace k2k::c_abi
