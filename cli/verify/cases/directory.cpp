// Names, directories and extended attributes.

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <cstdio>
#include <ctime>
#include <string>

#include "cli/verify/case.hpp"
#include "cli/verify/cases/ignored.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::uint16_t fchmodat2_number = 452;  // Newer than the headers of Linux 6.1.
constexpr timespec given_times[2] = {{1000000000, 5}, {1100000000, 7}};
constexpr utimbuf given_seconds = {1000000000, 1100000000};
constexpr timeval given_microseconds[2] = {{1000000000, 5}, {1100000000, 7}};

// Newer than the headers of Linux 6.1.
constexpr std::uint16_t statmount_number = 457;
constexpr std::uint16_t listmount_number = 458;
constexpr std::uint16_t setxattrat_number = 463;
constexpr std::uint16_t getxattrat_number = 464;
constexpr std::uint16_t listxattrat_number = 465;
constexpr std::uint16_t removexattrat_number = 466;
constexpr std::uint16_t open_tree_attr_number = 467;
constexpr std::uint16_t file_getattr_number = 468;
constexpr std::uint16_t file_setattr_number = 469;
constexpr std::size_t file_attributes_bytes = 24;
constexpr std::size_t content_bytes = 16;  // xattr_args

// mnt_id_req of `bytes` bytes.
Argument mount_request(std::uint32_t bytes, std::uint64_t mount) {
  return {.kind = Argument::Kind::buffer,
          .bytes = bytes_of(bytes) + bytes_of(std::uint32_t{0}) + bytes_of(mount) +
                   bytes_of(std::uint64_t{0})};
}
Argument content(Argument held) {
  Argument all =
      bytes(std::string(8, '\0') + bytes_of(static_cast<std::uint32_t>(held.bytes.size())) +
            bytes_of(std::uint32_t{0}));
  all.parts.push_back({0, std::move(held)});
  return all;
}
Argument room_for_handle(std::uint32_t bytes) {
  constexpr std::size_t room = 132;
  Argument all{.kind = Argument::Kind::buffer, .bytes = bytes_of(bytes)};
  // Not `+`: where this file is compiled alone, g++ 12 takes the sum for a read beyond its end.
  all.bytes.append(room, untouched);
  return all;
}

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

      {SYS_getdents,
       "a directory",
       {object(Object::directory), space(1024), number(1024)},
       Answer::exact,
       all_of(1, 1024)},
      {SYS_getdents, "a file", {object(Object::file), space(64), number(64)}},
      {SYS_getcwd, "the process' own", {space(4096), number(4096)}},
      {SYS_getcwd, "too little space", {space(1), number(1)}},
      {SYS_readlink, "a link", {path("link"), space(16), number(16)}},
      {SYS_readlink, "a part", {path("link"), space(16), number(2)}},
      {SYS_readlink, "a file", {path("file"), space(16), number(16)}},
      {SYS_readlink, "with less than no space", {path("link"), space(16), number(-1)}},
      {SYS_chown, "a file", {path("file"), number(::geteuid()), number(-1)}},
      {SYS_chown, "no file", {path("absent"), number(-1), number(-1)}},
      {SYS_fchown, "a file", {object(Object::file), number(-1), number(::getegid())}},
      {SYS_lchown, "a link", {path("link"), number(::geteuid()), number(::getegid())}},
      {SYS_utime, "both times", {path("file"), structure(given_seconds)}},
      {SYS_utime, "no file", {path("absent"), structure(given_seconds)}},
      {SYS_mknod, "a pipe", {path("named"), number(S_IFIFO | 0640), number(0)}},
      {SYS_mknod, "a directory", {path("named"), number(S_IFDIR | 0640), number(0)}},
      {SYS_umount2, "no mount", {path("folder"), number(0)}},

      {SYS_setxattr,
       "a new name",
       {path("file"), text("user.shape"), bytes("round"), number(5), number(0)}},
      {SYS_setxattr,
       "an existing name as a new one",
       {path("file"), text("user.colour"), bytes("blue"), number(4), number(XATTR_CREATE)}},
      {SYS_setxattr,
       "without a name space",
       {path("file"), text("shape"), bytes("round"), number(5), number(0)}},
      {SYS_setxattr,
       "a name that is too long",
       {path("file"), text(std::string(300, 'n')), bytes("round"), number(5), number(0)}},
      {SYS_getxattr, "a name", {path("file"), text("user.colour"), space(16), number(16)}},
      {SYS_getxattr, "its size", {path("file"), text("user.colour"), null(), number(0)}},
      {SYS_getxattr, "too little space", {path("file"), text("user.colour"), space(2), number(2)}},
      {SYS_getxattr, "no such name", {path("file"), text("user.absent"), space(16), number(16)}},
      {SYS_listxattr, "all", {path("file"), space(256), number(256)}},
      {SYS_listxattr, "the size", {path("file"), null(), number(0)}},
      {SYS_removexattr, "a name", {path("file"), text("user.colour")}},
      {SYS_removexattr, "no such name", {path("file"), text("user.absent")}},

      {SYS_lsetxattr,
       "a new name",
       {path("file"), text("user.shape"), bytes("round"), number(5), number(0)}},
      {SYS_lsetxattr,
       "an existing name as a new one",
       {path("file"), text("user.colour"), bytes("blue"), number(4), number(XATTR_CREATE)}},
      {SYS_lsetxattr,
       "without a name space",
       {path("file"), text("shape"), bytes("round"), number(5), number(0)}},
      {SYS_lsetxattr,
       "a name that is too long",
       {path("file"), text(std::string(300, 'n')), bytes("round"), number(5), number(0)}},
      {SYS_lgetxattr, "a name", {path("link"), text("user.colour"), space(16), number(16)}},
      {SYS_lgetxattr, "its size", {path("link"), text("user.colour"), null(), number(0)}},
      {SYS_lgetxattr, "too little space", {path("link"), text("user.colour"), space(2), number(2)}},
      {SYS_lgetxattr, "no such name", {path("link"), text("user.absent"), space(16), number(16)}},
      {SYS_llistxattr, "all", {path("link"), space(256), number(256)}},
      {SYS_llistxattr, "the size", {path("link"), null(), number(0)}},
      {SYS_lremovexattr, "a name", {path("file"), text("user.colour")}},
      {SYS_lremovexattr, "no such name", {path("file"), text("user.absent")}},

      {SYS_fsetxattr,
       "a new name",
       {object(Object::file), text("user.shape"), bytes("round"), number(5), number(0)}},
      {SYS_fsetxattr,
       "an existing name as a new one",
       {object(Object::file), text("user.colour"), bytes("blue"), number(4), number(XATTR_CREATE)}},
      {SYS_fsetxattr,
       "without a name space",
       {object(Object::file), text("shape"), bytes("round"), number(5), number(0)}},
      {SYS_fsetxattr,
       "a name that is too long",
       {object(Object::file), text(std::string(300, 'n')), bytes("round"), number(5), number(0)}},
      {SYS_fgetxattr, "a name", {object(Object::file), text("user.colour"), space(16), number(16)}},
      {SYS_fgetxattr, "its size", {object(Object::file), text("user.colour"), null(), number(0)}},
      {SYS_fgetxattr,
       "too little space",
       {object(Object::file), text("user.colour"), space(2), number(2)}},
      {SYS_fgetxattr,
       "no such name",
       {object(Object::file), text("user.absent"), space(16), number(16)}},
      {SYS_flistxattr, "all", {object(Object::file), space(256), number(256)}},
      {SYS_flistxattr, "the size", {object(Object::file), null(), number(0)}},
      {SYS_fremovexattr, "a name", {object(Object::file), text("user.colour")}},
      {SYS_fremovexattr, "no such name", {object(Object::file), text("user.absent")}},

      {SYS_utimes, "both times", {path("file"), structure(given_microseconds)}},
      {SYS_mknodat,
       "a pipe",
       {object(Object::directory), text("folder/named"), number(S_IFIFO | 0600), number(0)}},
      {SYS_fchownat,
       "a link",
       {object(Object::directory), text("link"), number(::geteuid()), number(-1),
        number(AT_SYMLINK_NOFOLLOW)}},
      {SYS_fchownat,
       "a wrong flag",
       {object(Object::directory), text("link"), number(-1), number(-1), number(0x40000000)}},
      {SYS_futimesat,
       "both times",
       {object(Object::directory), text("file"), structure(given_microseconds)}},
      {SYS_renameat,
       "a file",
       {object(Object::directory), text("file"), object(Object::directory),
        text("folder/renamed")}},
      {SYS_renameat,
       "no file",
       {object(Object::directory), text("absent"), object(Object::directory), text("renamed")}},
      {SYS_linkat,
       "a file",
       {object(Object::directory), text("file"), object(Object::directory), text("folder/second"),
        number(0)}},
      {SYS_linkat,
       "a wrong flag",
       {object(Object::directory), text("file"), object(Object::directory), text("second"),
        number(1)}},
      {SYS_symlinkat,
       "a name",
       {text("anywhere"), object(Object::directory), text("folder/pointer")}},
      {SYS_readlinkat, "a link", {object(Object::directory), text("link"), space(16), number(16)}},
      {SYS_readlinkat,
       "a directory",
       {object(Object::directory), text("folder"), space(16), number(16)}},
      {SYS_fchmodat, "a file", {object(Object::directory), text("file"), number(0400)}},
      {SYS_faccessat, "a file", {object(Object::directory), text("file"), number(R_OK)}},
      {SYS_faccessat, "no file", {object(Object::directory), text("absent"), number(R_OK)}},
      {SYS_renameat2,
       "in exchange",
       {object(Object::directory), text("file"), object(Object::directory), text("folder"),
        number(RENAME_EXCHANGE)}},
      {SYS_renameat2,
       "over nothing that exists",
       {object(Object::directory), text("file"), object(Object::directory), text("other"),
        number(RENAME_NOREPLACE)}},
      {SYS_open_tree,
       "a directory",
       {object(Object::directory), text("folder"), number(O_CLOEXEC)},
       Answer::descriptor},
      {SYS_open_tree, "a wrong flag", {object(Object::directory), text("folder"), number(2)}},
      {SYS_move_mount,
       "what is no mount",
       {object(Object::directory), text("folder"), object(Object::directory), text("empty"),
        number(0)}},
      {SYS_fsopen, "of no file system", {text("k2k-none"), number(0)}},
      {SYS_fsmount, "a file", {object(Object::file), number(0), number(0)}},
      {SYS_fspick, "what is no mount", {object(Object::directory), text("folder"), number(0)}},
      {SYS_faccessat2,
       "a link itself",
       {object(Object::directory), text("link"), number(R_OK), number(AT_SYMLINK_NOFOLLOW)}},
      {SYS_faccessat2,
       "a wrong flag",
       {object(Object::directory), text("link"), number(R_OK), number(0x40000000)}},
      {SYS_mount_setattr,
       "with less than a structure",
       {object(Object::directory), text("folder"), number(0), space(8), number(8)}},
      {fchmodat2_number,
       "a file",
       {object(Object::directory), text("file"), number(0440), number(0)}},
      {fchmodat2_number,
       "a wrong flag",
       {object(Object::directory), text("file"), number(0440), number(1)}},
      {SYS_mount,
       "of no type",
       {text("none"), path("folder"), text("k2k-none"), number(0), text("size=1")}},
      {SYS_mount,
       "on nothing",
       {text("none"), path("absent"), text("k2k-none"), number(0), null()}},
      {SYS_name_to_handle_at,
       "how long it is",
       {number(AT_FDCWD), path("file"), room_for_handle(0), space(4), number(0)}},
      {SYS_name_to_handle_at,
       "a handle",
       {number(AT_FDCWD), path("file"), room_for_handle(128), space(4), number(0)},
       Answer::exact,
       {{2, 8, 128}}},
      {SYS_name_to_handle_at,
       "that is too long",
       {number(AT_FDCWD), path("file"), room_for_handle(129), space(4), number(0)}},
      {SYS_name_to_handle_at,
       "of nothing",
       {number(AT_FDCWD), path("absent"), room_for_handle(128), space(4), number(0)}},
      {SYS_fsconfig,
       "a text for a file",
       {object(Object::file), number(FSCONFIG_SET_STRING), text("size"), text("1"), number(0)}},
      {SYS_fsconfig,
       "bytes for a file",
       {object(Object::file), number(FSCONFIG_SET_BINARY), text("size"), bytes("abc"), number(3)}},
      {SYS_fsconfig,
       "no command",
       {object(Object::file), number(99), text("size"), text("1"), number(0)}},
      {statmount_number, "no mount", {mount_request(24, 77), space(512), number(512), number(0)}},
      {statmount_number,
       "a short request",
       {mount_request(8, 77), space(512), number(512), number(0)}},
      {listmount_number,
       "those of the root",
       {mount_request(24, ~std::uint64_t{0}), space(64), number(8), number(0)}},
      {listmount_number,
       "below no mount",
       {mount_request(24, 77), space(64), number(8), number(0)}},
      {setxattrat_number,
       "a new one",
       {number(AT_FDCWD), path("file"), number(0), text("user.new"), content(bytes("content")),
        number(content_bytes)}},
      {setxattrat_number,
       "a wrong flag",
       {number(AT_FDCWD), path("file"), number(1), text("user.new"), content(bytes("content")),
        number(content_bytes)}},
      {getxattrat_number,
       "of a file",
       {number(AT_FDCWD), path("file"), number(0), text("user.colour"), content(space(32)),
        number(content_bytes)}},
      {getxattrat_number,
       "that is absent",
       {number(AT_FDCWD), path("file"), number(0), text("user.absent"), content(space(32)),
        number(content_bytes)}},
      {getxattrat_number,
       "by a short structure",
       {number(AT_FDCWD), path("file"), number(0), text("user.colour"), content(space(32)),
        number(8)}},
      {listxattrat_number,
       "of a file",
       {number(AT_FDCWD), path("file"), number(0), space(256), number(256)}},
      {listxattrat_number,
       "of nothing",
       {number(AT_FDCWD), path("absent"), number(0), space(256), number(256)}},
      {removexattrat_number,
       "of a file",
       {number(AT_FDCWD), path("file"), number(0), text("user.colour")}},
      {removexattrat_number,
       "that is absent",
       {number(AT_FDCWD), path("file"), number(0), text("user.absent")}},
      {open_tree_attr_number,
       "of nothing",
       {number(AT_FDCWD), path("absent"), number(0), bytes(std::string(32, '\0')), number(32)}},
      {open_tree_attr_number,
       "a wrong flag",
       {number(AT_FDCWD), path("folder"), number(0x40000000), bytes(std::string(32, '\0')),
        number(32)}},
      {file_getattr_number,
       "of a file",
       {number(AT_FDCWD), path("file"), space(file_attributes_bytes), number(file_attributes_bytes),
        number(0)}},
      {file_getattr_number,
       "by a short structure",
       {number(AT_FDCWD), path("file"), space(file_attributes_bytes), number(4), number(0)}},
      {file_setattr_number,
       "of nothing",
       {number(AT_FDCWD), path("absent"), bytes(std::string(file_attributes_bytes, '\0')),
        number(file_attributes_bytes), number(0)}},
      {file_setattr_number,
       "by a short structure",
       {number(AT_FDCWD), path("file"), bytes(std::string(file_attributes_bytes, '\0')), number(4),
        number(0)}},
  };
}

}  // namespace k2k::cli::verify
