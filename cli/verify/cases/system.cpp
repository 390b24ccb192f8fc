// The machine, its kernel and its devices.

#include <sys/ioctl.h>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

std::vector<Case> system_cases() {
  return {
      {SYS_uname, "names", {space(390)}},
      {SYS_sysinfo, "memory and load", {space(112)}, Answer::exact, all_of(0, 112)},
      {SYS_ioctl, "an unknown request", {object(Object::file), number(0x1234), null()}},
  };
}

}  // namespace k2k::cli::verify
