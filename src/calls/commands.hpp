#pragma once
// Arguments whose meaning another argument, a command, decides: one Command for each pair of a
// command and an argument that is a pointer. With other commands the argument is a number.
//
// Numbers are those of Linux on x86-64, as in rows.hpp.
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"
#include "calls/row.hpp"

namespace k2k::calls {

struct Command {
  std::uint16_t number;   // The call.
  std::uint8_t selector;  // The argument that is the command.
  std::uint32_t mask;     // The bits of the command that count.
  std::uint32_t command;
  std::uint8_t parameter;  // The argument that it decides.
  Extent extent;
};

namespace detail {

inline constexpr std::uint32_t all_bits = 0xffffffff;

K2K_HD constexpr Command of_shmctl(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {31, 1, all_bits, command, 2, {kind, 0, bytes}};
}
// Elements of 2 bytes; their number is an argument of the wrapper that Linux does not have.
K2K_HD constexpr Command of_semctl(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {66, 2, all_bits, command, 3, {kind, 4, bytes}};
}
K2K_HD constexpr Command of_msgctl(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {71, 1, all_bits, command, 2, {kind, 0, bytes}};
}
K2K_HD constexpr Command of_fcntl(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {72, 1, all_bits, command, 2, {kind, 0, bytes}};
}
K2K_HD constexpr Command of_reboot(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {169, 2, all_bits, command, 3, {kind, 0, bytes}};
}
// The lower 8 bits are the type of the quota.
K2K_HD constexpr Command of_quota(std::uint16_t number, std::uint32_t command, Kind kind,
                                  std::uint16_t bytes) {
  const std::uint8_t selector = number == 179 ? 0 : 1;
  return {number, selector, 0xffffff00, command << 8, 3, {kind, 0, bytes}};
}
// Without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
K2K_HD constexpr Command of_futex(std::uint32_t command) {
  return {202, 1, all_bits & ~std::uint32_t{128 | 256}, command, 3, {Kind::in_struct, 0, 16}};
}
K2K_HD constexpr Command of_keyctl(std::uint32_t command, std::uint8_t parameter, Kind kind,
                                   std::uint8_t size_from, std::uint16_t bytes) {
  return {250, 0, all_bits, command, parameter, {kind, size_from, bytes}};
}
K2K_HD constexpr Command of_fsconfig(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {431, 1, all_bits, command, 3, {kind, 4, bytes}};
}
K2K_HD constexpr Command of_ioctl(std::uint32_t command, Kind kind, std::uint16_t bytes) {
  return {16, 1, all_bits, command, 2, {kind, 0, bytes}};
}
K2K_HD constexpr Command of_landlock(std::uint32_t command, std::uint16_t bytes) {
  return {445, 1, all_bits, command, 2, {Kind::in_struct, 0, bytes}};
}
// AT_HANDLE_MNT_ID_UNIQUE: the number of the mount takes 8 bytes.
K2K_HD constexpr Command of_handle(std::uint32_t flag, std::uint16_t bytes) {
  return {303, 4, 1, flag, 3, {Kind::out_struct, 0, bytes}};
}

}  // namespace detail

inline constexpr Command commands[] = {
    detail::of_shmctl(1, Kind::in_struct, 112),    // IPC_SET
    detail::of_shmctl(2, Kind::out_struct, 112),   // IPC_STAT
    detail::of_shmctl(3, Kind::out_struct, 72),    // IPC_INFO
    detail::of_shmctl(13, Kind::out_struct, 112),  // SHM_STAT
    detail::of_shmctl(14, Kind::out_struct, 48),   // SHM_INFO
    detail::of_shmctl(15, Kind::out_struct, 112),  // SHM_STAT_ANY

    detail::of_semctl(1, Kind::in_struct, 104),    // IPC_SET
    detail::of_semctl(2, Kind::out_struct, 104),   // IPC_STAT
    detail::of_semctl(3, Kind::out_struct, 40),    // IPC_INFO
    detail::of_semctl(13, Kind::inout_array, 2),   // GETALL
    detail::of_semctl(17, Kind::in_array, 2),      // SETALL
    detail::of_semctl(18, Kind::out_struct, 104),  // SEM_STAT
    detail::of_semctl(19, Kind::out_struct, 40),   // SEM_INFO
    detail::of_semctl(20, Kind::out_struct, 104),  // SEM_STAT_ANY

    detail::of_msgctl(1, Kind::in_struct, 120),    // IPC_SET
    detail::of_msgctl(2, Kind::out_struct, 120),   // IPC_STAT
    detail::of_msgctl(3, Kind::out_struct, 32),    // IPC_INFO
    detail::of_msgctl(11, Kind::out_struct, 120),  // MSG_STAT
    detail::of_msgctl(12, Kind::out_struct, 32),   // MSG_INFO
    detail::of_msgctl(13, Kind::out_struct, 120),  // MSG_STAT_ANY

    detail::of_fcntl(5, Kind::inout_struct, 32),   // F_GETLK
    detail::of_fcntl(6, Kind::in_struct, 32),      // F_SETLK
    detail::of_fcntl(7, Kind::in_struct, 32),      // F_SETLKW
    detail::of_fcntl(15, Kind::in_struct, 8),      // F_SETOWN_EX
    detail::of_fcntl(16, Kind::out_struct, 8),     // F_GETOWN_EX
    detail::of_fcntl(17, Kind::out_struct, 8),     // F_GETOWNER_UIDS
    detail::of_fcntl(36, Kind::inout_struct, 32),  // F_OFD_GETLK
    detail::of_fcntl(37, Kind::in_struct, 32),     // F_OFD_SETLK
    detail::of_fcntl(38, Kind::in_struct, 32),     // F_OFD_SETLKW
    detail::of_fcntl(1035, Kind::out_struct, 8),   // F_GET_RW_HINT
    detail::of_fcntl(1036, Kind::in_struct, 8),    // F_SET_RW_HINT
    detail::of_fcntl(1037, Kind::out_struct, 8),   // F_GET_FILE_RW_HINT
    detail::of_fcntl(1038, Kind::in_struct, 8),    // F_SET_FILE_RW_HINT

    detail::of_reboot(0xa1b2c3d4, Kind::text, 256),  // LINUX_REBOOT_CMD_RESTART2

    detail::of_quota(179, 0x800002, Kind::path, 0),         // Q_QUOTAON
    detail::of_quota(179, 0x800004, Kind::out_struct, 4),   // Q_GETFMT
    detail::of_quota(179, 0x800005, Kind::out_struct, 24),  // Q_GETINFO
    detail::of_quota(179, 0x800006, Kind::in_struct, 24),   // Q_SETINFO
    detail::of_quota(179, 0x800007, Kind::out_struct, 72),  // Q_GETQUOTA
    detail::of_quota(179, 0x800008, Kind::in_struct, 72),   // Q_SETQUOTA
    detail::of_quota(179, 0x800009, Kind::out_struct, 80),  // Q_GETNEXTQUOTA
    detail::of_quota(443, 0x800004, Kind::out_struct, 4),
    detail::of_quota(443, 0x800005, Kind::out_struct, 24),
    detail::of_quota(443, 0x800006, Kind::in_struct, 24),
    detail::of_quota(443, 0x800007, Kind::out_struct, 72),
    detail::of_quota(443, 0x800008, Kind::in_struct, 72),
    detail::of_quota(443, 0x800009, Kind::out_struct, 80),

    // The timeout; with other operations, a number of waiting threads.
    detail::of_futex(0),   // FUTEX_WAIT
    detail::of_futex(6),   // FUTEX_LOCK_PI
    detail::of_futex(9),   // FUTEX_WAIT_BITSET
    detail::of_futex(11),  // FUTEX_WAIT_REQUEUE_PI
    detail::of_futex(13),  // FUTEX_LOCK_PI2

    detail::of_keyctl(1, 1, Kind::path, 0, 0),      // KEYCTL_JOIN_SESSION_KEYRING
    detail::of_keyctl(2, 2, Kind::in_bytes, 3, 0),  // KEYCTL_UPDATE
    // An answer above the size says that nothing was written.
    detail::of_keyctl(6, 2, Kind::inout_array, 3, 1),   // KEYCTL_DESCRIBE
    detail::of_keyctl(10, 2, Kind::text, 0, 32),        // KEYCTL_SEARCH
    detail::of_keyctl(10, 3, Kind::path, 0, 0),         // Likewise
    detail::of_keyctl(11, 2, Kind::inout_array, 3, 1),  // KEYCTL_READ
    detail::of_keyctl(12, 2, Kind::in_bytes, 3, 0),     // KEYCTL_INSTANTIATE
    detail::of_keyctl(17, 2, Kind::inout_array, 3, 1),  // KEYCTL_GET_SECURITY
    detail::of_keyctl(20, 2, Kind::in_pieces, 3, 16),   // KEYCTL_INSTANTIATE_IOV
    detail::of_keyctl(23, 1, Kind::in_struct, 0, 12),   // KEYCTL_DH_COMPUTE
    detail::of_keyctl(23, 2, Kind::inout_array, 3, 1),  // Likewise
    detail::of_keyctl(23, 4, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(24, 3, Kind::path, 0, 0),         // KEYCTL_PKEY_QUERY
    detail::of_keyctl(24, 4, Kind::out_struct, 0, 48),  // Likewise
    detail::of_keyctl(25, 1, Kind::in_struct, 0, 40),   // KEYCTL_PKEY_ENCRYPT
    detail::of_keyctl(25, 2, Kind::path, 0, 0),         // Likewise
    detail::of_keyctl(25, 3, Kind::opaque, 0, 0),       // Sizes are in the structure.
    detail::of_keyctl(25, 4, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(26, 1, Kind::in_struct, 0, 40),   // KEYCTL_PKEY_DECRYPT
    detail::of_keyctl(26, 2, Kind::path, 0, 0),         // Likewise
    detail::of_keyctl(26, 3, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(26, 4, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(27, 1, Kind::in_struct, 0, 40),   // KEYCTL_PKEY_SIGN
    detail::of_keyctl(27, 2, Kind::path, 0, 0),         // Likewise
    detail::of_keyctl(27, 3, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(27, 4, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(28, 1, Kind::in_struct, 0, 40),   // KEYCTL_PKEY_VERIFY
    detail::of_keyctl(28, 2, Kind::path, 0, 0),         // Likewise
    detail::of_keyctl(28, 3, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(28, 4, Kind::opaque, 0, 0),       // Likewise
    detail::of_keyctl(29, 2, Kind::text, 0, 32),        // KEYCTL_RESTRICT_KEYRING
    detail::of_keyctl(29, 3, Kind::path, 0, 0),         // Likewise
    detail::of_keyctl(31, 1, Kind::inout_array, 2, 1),  // KEYCTL_CAPABILITIES

    detail::of_handle(0, 4), detail::of_handle(1, 8),

    detail::of_fsconfig(1, Kind::text, 256),    // FSCONFIG_SET_STRING
    detail::of_fsconfig(2, Kind::in_bytes, 0),  // FSCONFIG_SET_BINARY
    detail::of_fsconfig(3, Kind::path, 0),      // FSCONFIG_SET_PATH
    detail::of_fsconfig(4, Kind::path, 0),      // FSCONFIG_SET_PATH_EMPTY

    // Requests of ioctl whose argument is a number or one structure without pointers and without a
    // tail. Only these are copied: a number does not tell whether a structure has more behind it,
    // and the size that it encodes may be wrong (FS_IOC_GETFLAGS, TUNGETIFF).
    detail::of_ioctl(0x0000125e, Kind::out_struct, 4),    // BLKROGET
    detail::of_ioctl(0x00001260, Kind::out_struct, 8),    // BLKGETSIZE
    detail::of_ioctl(0x00001261, Kind::value, 0),         // BLKFLSBUF
    detail::of_ioctl(0x00001263, Kind::out_struct, 8),    // BLKRAGET
    detail::of_ioctl(0x00001268, Kind::out_struct, 4),    // BLKSSZGET
    detail::of_ioctl(0x80081270, Kind::out_struct, 4),    // BLKBSZGET: an int, whatever it encodes
    detail::of_ioctl(0x80081272, Kind::out_struct, 8),    // BLKGETSIZE64
    detail::of_ioctl(0x0000127b, Kind::out_struct, 4),    // BLKPBSZGET
    detail::of_ioctl(0x00001278, Kind::out_struct, 4),    // BLKIOMIN
    detail::of_ioctl(0x00001279, Kind::out_struct, 4),    // BLKIOOPT
    detail::of_ioctl(0x00004600, Kind::out_struct, 160),  // FBIOGET_VSCREENINFO
    detail::of_ioctl(0x00004601, Kind::inout_struct, 160),  // FBIOPUT_VSCREENINFO
    detail::of_ioctl(0x00004602, Kind::out_struct, 80),     // FBIOGET_FSCREENINFO
    detail::of_ioctl(0x00004606, Kind::inout_struct, 160),  // FBIOPAN_DISPLAY
    detail::of_ioctl(0x00004b3a, Kind::value, 0),           // KDSETMODE
    detail::of_ioctl(0x00004b3b, Kind::out_struct, 4),      // KDGETMODE
    detail::of_ioctl(0x00004c05, Kind::out_struct, 232),    // LOOP_GET_STATUS64
    detail::of_ioctl(0x00004c82, Kind::value, 0),           // LOOP_CTL_GET_FREE
    detail::of_ioctl(0x80045200, Kind::out_struct, 4),      // RNDGETENTCNT
    detail::of_ioctl(0x40045201, Kind::in_struct, 4),       // RNDADDTOENTCNT
    detail::of_ioctl(0x00005401, Kind::out_struct, 36),     // TCGETS
    detail::of_ioctl(0x00005402, Kind::in_struct, 36),      // TCSETS
    detail::of_ioctl(0x00005403, Kind::in_struct, 36),      // TCSETSW
    detail::of_ioctl(0x00005404, Kind::in_struct, 36),      // TCSETSF
    detail::of_ioctl(0x00005409, Kind::value, 0),           // TCSBRK
    detail::of_ioctl(0x0000540a, Kind::value, 0),           // TCXONC
    detail::of_ioctl(0x0000540b, Kind::value, 0),           // TCFLSH
    detail::of_ioctl(0x0000540f, Kind::out_struct, 4),      // TIOCGPGRP
    detail::of_ioctl(0x00005411, Kind::out_struct, 4),      // TIOCOUTQ
    detail::of_ioctl(0x00005413, Kind::out_struct, 8),      // TIOCGWINSZ
    detail::of_ioctl(0x00005414, Kind::in_struct, 8),       // TIOCSWINSZ
    detail::of_ioctl(0x00005415, Kind::out_struct, 4),      // TIOCMGET
    detail::of_ioctl(0x0000541b, Kind::out_struct, 4),      // FIONREAD
    detail::of_ioctl(0x00005421, Kind::in_struct, 4),       // FIONBIO
    detail::of_ioctl(0x00005429, Kind::out_struct, 4),      // TIOCGSID
    detail::of_ioctl(0x80045430, Kind::out_struct, 4),      // TIOCGPTN
    detail::of_ioctl(0x40045431, Kind::in_struct, 4),       // TIOCSPTLCK
    detail::of_ioctl(0x80045439, Kind::out_struct, 4),      // TIOCGPTLCK
    detail::of_ioctl(0x00005450, Kind::value, 0),           // FIONCLEX
    detail::of_ioctl(0x00005451, Kind::value, 0),           // FIOCLEX
    detail::of_ioctl(0x00005452, Kind::in_struct, 4),       // FIOASYNC
    detail::of_ioctl(0x00005460, Kind::out_struct, 8),      // FIOQSIZE
    detail::of_ioctl(0x400454ca, Kind::inout_struct, 40),   // TUNSETIFF: it encodes an int
    detail::of_ioctl(0x800454d2, Kind::out_struct, 40),     // TUNGETIFF: likewise
    detail::of_ioctl(0xc0185879, Kind::inout_struct, 24),   // FITRIM
    detail::of_ioctl(0x801c581f, Kind::out_struct, 28),     // FS_IOC_FSGETXATTR
    detail::of_ioctl(0x401c5820, Kind::in_struct, 28),      // FS_IOC_FSSETXATTR
    detail::of_ioctl(0x80086601, Kind::out_struct, 4),      // FS_IOC_GETFLAGS: an int
    detail::of_ioctl(0x40086602, Kind::in_struct, 4),       // FS_IOC_SETFLAGS: likewise
    detail::of_ioctl(0x80087601, Kind::out_struct, 4),      // FS_IOC_GETVERSION: likewise
    detail::of_ioctl(0x80247009, Kind::out_struct, 36),     // RTC_RD_TIME
    detail::of_ioctl(0x00008904, Kind::out_struct, 4),      // SIOCGPGRP
    detail::of_ioctl(0x00008905, Kind::out_struct, 4),      // SIOCATMARK
    detail::of_ioctl(0x00008910, Kind::inout_struct, 40),   // SIOCGIFNAME
    detail::of_ioctl(0x00008913, Kind::inout_struct, 40),   // SIOCGIFFLAGS
    detail::of_ioctl(0x00008915, Kind::inout_struct, 40),   // SIOCGIFADDR
    detail::of_ioctl(0x00008919, Kind::inout_struct, 40),   // SIOCGIFBRDADDR
    detail::of_ioctl(0x0000891b, Kind::inout_struct, 40),   // SIOCGIFNETMASK
    detail::of_ioctl(0x0000891d, Kind::inout_struct, 40),   // SIOCGIFMETRIC
    detail::of_ioctl(0x00008921, Kind::inout_struct, 40),   // SIOCGIFMTU
    detail::of_ioctl(0x00008927, Kind::inout_struct, 40),   // SIOCGIFHWADDR
    detail::of_ioctl(0x00008933, Kind::inout_struct, 40),   // SIOCGIFINDEX
    detail::of_ioctl(0x00008942, Kind::inout_struct, 40),   // SIOCGIFTXQLEN
    detail::of_ioctl(0x40049409, Kind::value, 0),           // FICLONE: a descriptor
    detail::of_ioctl(0x4020940d, Kind::in_struct, 32),      // FICLONERANGE
    detail::of_ioctl(0x81009431, Kind::out_struct, 256),    // FS_IOC_GETFSLABEL
    detail::of_ioctl(0x41009432, Kind::in_struct, 256),     // FS_IOC_SETFSLABEL

    detail::of_landlock(1, 12),  // LANDLOCK_RULE_PATH_BENEATH
    detail::of_landlock(2, 16),  // LANDLOCK_RULE_NET_PORT
};
inline constexpr int command_count = static_cast<int>(sizeof(commands) / sizeof(commands[0]));

// The argument of a request of ioctl that is not in `commands`: Linux gets it as it stands, so it
// must be memory of the host, at least as long as the number encodes (_IOC_DIR, _IOC_SIZE). Without
// a direction it may be a number, or a pointer to something of unknown size.
K2K_HD constexpr Extent extent_of_request(std::uint64_t request) {
  const bool has_direction = (request >> 30 & 3) != 0;
  const auto bytes = static_cast<std::uint16_t>(request >> 16 & 0x3fff);
  return {Kind::opaque, 0, has_direction ? bytes : std::uint16_t{0}};
}

// The meaning of the argument `index`, by the commands [first, first + count) of its call.
K2K_HD constexpr Extent extent_by(const Command* first, int count, std::uint16_t number, int index,
                                  const std::uint64_t* words) {
  for (int at = 0; at < count; ++at) {
    const Command& command = first[at];
    if (command.number != number || command.parameter != index) continue;
    if ((static_cast<std::uint32_t>(words[command.selector]) & command.mask) != command.command)
      continue;
    // semctl without the number of semaphores: the array cannot be copied.
    const bool unknown =
        number == 66 && is_array(command.extent.kind) && words[command.extent.size_from] == 0;
    return unknown ? Extent{Kind::opaque, 0, 0} : command.extent;
  }
  if (number == 16) return extent_of_request(words[1]);
  return {Kind::value, 0, 0};
}

// For the host: the extent of an argument whose row says by_command.
K2K_HD constexpr Extent extent_of(std::uint16_t number, int index, const std::uint64_t* words) {
  return extent_by(commands, command_count, number, index, words);
}

K2K_HD constexpr bool is_by_command(const Row& row) {
  for (int index = 0; index < parameters_max; ++index) {
    if (row.parameters[index].kind == Kind::by_command) return true;
  }
  return false;
}

// Can an argument of the call lead to further pointers?
K2K_HD constexpr bool may_be_nested(const Row& row) {
  for (int index = 0; index < parameters_max; ++index) {
    if (is_nested(row.parameters[index].kind)) return true;
  }
  return is_by_command(row) && row.number == 250;  // keyctl
}

// The commands of one call, for device code, which cannot read `commands` by an index.
template <int count>
struct Commands {
  Command command[count] = {};
};

K2K_HD constexpr int count_commands(std::uint16_t number) {
  int count = 0;
  for (const Command& command : commands) count += command.number == number ? 1 : 0;
  return count;
}

template <std::uint16_t number>
K2K_HD constexpr Commands<count_commands(number)> commands_of() {
  Commands<count_commands(number)> mine;
  int end = 0;
  for (const Command& command : commands) {
    if (command.number == number) mine.command[end++] = command;
  }
  return mine;
}

}  // namespace k2k::calls
