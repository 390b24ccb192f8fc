// Identities, limits and usage of the process.

#include <linux/kcmp.h>
#include <linux/landlock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::uint16_t lsm_list_modules_number = 461;
constexpr std::uint16_t listns_number = 470;

}  // namespace

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
      {SYS_landlock_add_rule,
       "to what is no ruleset",
       {object(Object::file), number(LANDLOCK_RULE_PATH_BENEATH),
        structure(landlock_path_beneath_attr{}), number(0)}},
      {SYS_landlock_add_rule,
       "of no type",
       {object(Object::file), number(99), structure(std::uint64_t{0}), number(0)}},
      {lsm_list_modules_number,
       "all",
       {space(128), structure(std::uint32_t{128}), number(0)},
       Answer::exact,
       {},
       false},  // Without a size the buffer's reach is not known.
      {lsm_list_modules_number,
       "with no room",
       {space(8), structure(std::uint32_t{1}), number(0)},
       Answer::exact,
       {},
       false},
      {lsm_list_modules_number,
       "a wrong flag",
       {space(8), structure(std::uint32_t{8}), number(1)},
       Answer::exact,
       {},
       false},
      {listns_number,
       "a short request",
       {bytes(joined({bytes_of(std::uint32_t{4}), std::string(28, '\0')})), space(64), number(8),
        number(0)}},
  };
}

}  // namespace k2k::cli::verify
