// Identities, limits and usage of the process.

#include <sys/resource.h>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

std::vector<Case> process_cases() {
  return {
      {SYS_getpid, "its number", {}},
      {SYS_getrlimit, "descriptors", {number(RLIMIT_NOFILE), space(16)}},
      {SYS_getrlimit, "no resource", {number(99), space(16)}},
      {SYS_getrusage,
       "of the process",
       {number(RUSAGE_SELF), space(144)},
       Answer::exact,
       all_of(1, 144)},
      {SYS_getrusage, "of nobody", {number(9), space(144)}},
      {SYS_getuid, "its user", {}},
      {SYS_getgid, "its group", {}},
      {SYS_geteuid, "its effective user", {}},
      {SYS_getegid, "its effective group", {}},
      {SYS_getppid, "its parent", {}},
      {SYS_getpgrp, "its process group", {}},
      {SYS_getresuid, "three users", {space(4), space(4), space(4)}},
      {SYS_getresgid, "three groups", {space(4), space(4), space(4)}},
      {SYS_getpgid, "its process group", {number(0)}},
      {SYS_getpgid, "of nobody", {number(-5)}},
      {SYS_getsid, "its session", {number(0)}},
      {SYS_getsid, "of nobody", {number(-5)}},
      {SYS_rt_sigqueueinfo, "to nobody", {number(0x3fffffff), number(10), space(128)}},
  };
}

}  // namespace k2k::cli::verify
