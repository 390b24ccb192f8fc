// Names, directories and extended attributes.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr timespec given_times[2] = {{1000000000, 5}, {1100000000, 7}};

}  // namespace

std::vector<Case> directory_cases() {
  return {
      {SYS_access, "a file", {path("file"), number(R_OK)}},
      {SYS_access, "no file", {path("absent"), number(F_OK)}},
      {SYS_access, "a wrong mode", {path("file"), number(99)}},
      {SYS_rename, "a file", {path("file"), path("renamed")}},
      {SYS_rename, "no file", {path("absent"), path("renamed")}},
      {SYS_rename, "a directory over a file", {path("folder"), path("file")}},
      {SYS_mkdir, "a directory", {path("made"), number(0700)}},
      {SYS_mkdir, "what exists", {path("folder"), number(0700)}},
      {SYS_rmdir, "an empty directory", {path("empty")}},
      {SYS_rmdir, "a full directory", {path("folder")}},
      {SYS_rmdir, "a file", {path("file")}},
      {SYS_link, "a file", {path("file"), path("second")}},
      {SYS_link, "to an existing name", {path("file"), path("other")}},
      {SYS_unlink, "a file", {path("file")}},
      {SYS_unlink, "a directory", {path("folder")}},
      {SYS_symlink, "a name", {text("anywhere"), path("pointer")}},
      {SYS_symlink, "an empty name", {text(""), path("pointer")}},
      {SYS_chmod, "a file", {path("file"), number(0400)}},
      {SYS_chmod, "no file", {path("absent"), number(0400)}},
      {SYS_fchmod, "a file", {object(Object::file), number(0444)}},
      {SYS_statfs, "a file", {path("file"), space(120)}, Answer::exact, of_statfs(1)},
      {SYS_getdents64,
       "a directory",
       {object(Object::directory), space(1024), number(1024)},
       Answer::exact,
       all_of(1, 1024)},
      {SYS_getdents64, "a file", {object(Object::file), space(64), number(64)}},
      {SYS_getdents64, "too little space", {object(Object::directory), space(4), number(4)}},
      {SYS_mkdirat, "a directory", {object(Object::directory), text("folder/made"), number(0711)}},
      {SYS_unlinkat, "a file", {object(Object::directory), text("folder/inner"), number(0)}},
      {SYS_unlinkat,
       "a directory",
       {object(Object::directory), text("empty"), number(AT_REMOVEDIR)}},
      {SYS_utimensat,
       "both times",
       {object(Object::directory), text("file"), structure(given_times), number(0)}},
  };
}

}  // namespace k2k::cli::verify
