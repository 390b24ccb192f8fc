// The machine, its kernel and its devices.

#include <sys/ioctl.h>

#include <string>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

std::vector<Case> system_cases() {
  return {
      {SYS_uname, "names", {space(390)}},
      {SYS_sysinfo, "memory and load", {space(112)}, Answer::exact, all_of(0, 112)},
      {SYS_ioctl, "an unknown request", {object(Object::file), number(0x1234), null()}},

      {SYS_syslog, "the size of the log", {number(10), null(), number(0)}},
      {SYS_syslog, "nothing that there is", {number(99), space(8), number(8)}},
      {SYS_add_key,
       "of no type",
       {text("k2k-none"), text("name"), bytes("x"), number(1), number(0)}},
      {SYS_add_key,
       "of a type that is too long",
       {text(std::string(40, 't')), text("name"), bytes("x"), number(1), number(0)}},
      {SYS_getrandom, "bytes", {space(16), number(16), number(0)}, Answer::exact, all_of(0, 16)},
      {SYS_getrandom, "a wrong flag", {space(16), number(16), number(64)}},
  };
}

}  // namespace k2k::cli::verify
