#include "shim/open_numbers.hpp"

namespace k2k::shim {
namespace {

// -1: "." and "..".
int number_of(const char* name) {
  int number = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9') return -1;
    number = number * 10 + (*name - '0');
  }
  return number;
}

}  // namespace

int NumberFolder::next() {
  while (true) {  // Ends with the folder, whose numbers only rise.
    if (at_ >= filled_) {
      filled_ = syscall(SYS_getdents64, folder_, piece_, sizeof piece_);
      at_ = 0;
      if (filled_ <= 0) return -1;
    }
    const auto* const entry = reinterpret_cast<const Entry*>(piece_ + at_);
    at_ += entry->bytes;
    const int number = number_of(entry->name);
    if (number >= 0 && number != folder_) return number;
  }
}

}  // namespace k2k::shim
