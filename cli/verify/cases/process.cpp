// Identities, limits and usage of the process.

#include <linux/kcmp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

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

      {SYS_getgroups, "their number", {number(0), null()}},
      {SYS_getgroups, "all", {number(256), space(1024)}},
      {SYS_getgroups, "less than none", {number(-1), space(16)}},
      {SYS_waitid,
       "for no child",
       {number(P_ALL), number(0), space(128), number(WNOHANG | WEXITED | WNOWAIT), space(144)}},
      {SYS_waitid,
       "for nothing",
       {number(P_ALL), number(0), space(128), number(WNOHANG | WNOWAIT), null()}},
      {SYS_kcmp,
       "a descriptor with itself",
       {number(::getpid()), number(::getpid()), number(KCMP_FILE), object(Object::file),
        object(Object::file)}},
      {SYS_kcmp,
       "in no way",
       {number(::getpid()), number(::getpid()), number(99), number(0), number(0)}},
      {SYS_pidfd_open, "its own", {number(::getpid()), number(0)}, Answer::descriptor},
      {SYS_pidfd_open, "of nobody", {number(-5), number(0)}},
      {SYS_pidfd_getfd, "of a file", {object(Object::file), object(Object::other), number(0)}},
      {SYS_landlock_create_ruleset, "the version", {null(), number(0), number(1)}},
      {SYS_landlock_create_ruleset,
       "of too few bytes",
       {bytes(std::string(8, '\0')), number(4), number(0)}},
  };
}

}  // namespace k2k::cli::verify
