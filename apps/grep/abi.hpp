#pragma once
// The Linux ABI that the kernel of k2k grep uses: x86-64 numbers on every host, like
// calls/rows.hpp. Device code includes no system header.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::grep::abi {

inline constexpr int o_rdonly = 0;
inline constexpr int o_noctty = 0400;
inline constexpr int o_nonblock = 04000;
inline constexpr int o_directory = 0200000;
inline constexpr int o_nofollow = 0400000;
inline constexpr int o_cloexec = 02000000;
inline constexpr int o_path = 010000000;

inline constexpr int at_fdcwd = -100;
inline constexpr int at_symlink_nofollow = 0x100;
inline constexpr int seek_set = 0;

inline constexpr int eagain = 11;
inline constexpr int enfile = 23;
inline constexpr int emfile = 24;
inline constexpr int enametoolong = 36;
inline constexpr int eloop = 40;

inline constexpr std::size_t path_max = 4096;  // Including the terminator.
inline constexpr std::size_t pipe_buf = 4096;  // Writes of at most this size do not interleave in a
                                               // pipe.

// struct linux_dirent64, as getdents64 packs it.
inline constexpr std::size_t entry_next_offset = 8;    // s64 d_off: the position of the next entry.
inline constexpr std::size_t entry_bytes_offset = 16;  // u16 d_reclen
inline constexpr std::size_t entry_type_offset = 18;   // u8 d_type
inline constexpr std::size_t entry_name_offset = 19;
inline constexpr unsigned char type_unknown = 0;
inline constexpr unsigned char type_directory = 4;
inline constexpr unsigned char type_regular = 8;
inline constexpr unsigned char type_link = 10;

// struct stat.
inline constexpr std::size_t status_bytes = 144;
inline constexpr std::size_t status_device_offset = 0;  // u64 st_dev
inline constexpr std::size_t status_mode_offset = 24;   // u32 st_mode
inline constexpr std::size_t status_size_offset = 48;   // s64 st_size
inline constexpr std::uint32_t mode_type = 0170000;
inline constexpr std::uint32_t mode_directory = 0040000;
inline constexpr std::uint32_t mode_regular = 0100000;

// struct statfs begins with the magic number. These file systems generate their files' content
// during a read.
inline constexpr std::size_t system_bytes = 120;
K2K_HD constexpr bool is_synthetic(std::uint64_t magic) {
  constexpr std::uint64_t magics[] = {
      0x9fa0,      // proc
      0x62656572,  // sysfs
      0x64626720,  // debugfs
      0x74726163,  // tracefs
      0x27e0eb,    // cgroup
      0x63677270,  // cgroup2
      0x73636673,  // securityfs
      0x65735546,  // fuse: content by its server
      0x01021997,  // 9p
  };
  for (const std::uint64_t each : magics) {
    if (each == magic) return true;
  }
  return false;
}

template <class Value>
K2K_HD inline Value field(const void* record, std::size_t offset) {
  Value value;
  __builtin_memcpy(&value, static_cast<const unsigned char*>(record) + offset, sizeof(Value));
  return value;
}

}  // namespace k2k::grep::abi
