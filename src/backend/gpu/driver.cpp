#include "backend/gpu/driver.hpp"

#include <cerrno>

namespace k2k::backend::gpu {

std::string words_of(Code code, const char* name, const char* text) {
  return std::string(name == nullptr ? "unknown error" : name) + " (" +
         (text == nullptr ? std::to_string(code) : text) + ")";
}

Status status_of(Code code, const char* driver, const std::string& what, const std::string& words) {
  if (code == success) return {};
  return Error{code == out_of_memory ? ENOMEM : EIO,
               std::string(driver) + " could not " + what + ": " + words};
}

Error no_device(const char* vendor, const std::string& why, const std::string& remedy) {
  return Error{ENODEV, std::string("no ") + vendor + " device can be used: " + why + "; " + remedy +
                           ", or set backend = \"cpu\""};
}

Status Driver::call(Code code, const std::string& what) const {
  return code == success ? Status() : status_of(code, names().driver, what, words(code));
}

}  // namespace k2k::backend::gpu
