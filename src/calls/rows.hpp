#pragma once
// The system calls that have typed wrappers, one row per call. The wrapper generator, the device
// code that copies buffers to host-visible memory, and the server's services read it. Every call of
// Linux, for the host alone, is in calls/table.hpp.
//
// Numbers are those of Linux on x86-64: the services pass them to the kernel, and do not compile
// for another processor (services/raw.hpp).
//
// C++17, freestanding, constant.

#include <cstddef>
#include <cstdint>

#include "base/attributes.hpp"

namespace k2k::calls {

enum class Family : std::uint8_t {
  own,
  file,
  directory,
  network,
  memory,
  process,
  scheduling,
  device,
  time,
  event,
  ipc,
  system,
};

// Whether the call may block its thread; this decides how the server executes it
// (docs/decisions/0004).
enum class Blocking : std::uint8_t {
  never,   // Answers from memory.
  rarely,  // Answers from a cache, or waits for a disk.
  waits,   // Waits for a peer, a person or a clock.
};

// The barrier that relaxed order may drop (thesis, section 3.5.1).
enum class Role : std::uint8_t {
  consumer,  // Takes data from the group, which does not need the call's result: no barrier after
             // it.
  producer,  // Gives data to the group, and needs none from it: no barrier before it.
  both,      // Keeps both barriers; at kernel scope the caller must name a role.
};

enum class Kind : std::uint8_t {
  none,
  value,         // A number.
  descriptor,    // A file descriptor.
  address,       // An address the call does not follow (mmap, munmap, madvise).
  opaque,        // A pointer whose meaning depends on the call (ioctl); must be host-visible.
  path,          // A NUL-terminated string, read.
  in_bytes,      // Read; its size is the argument `size_from`, clamped to the available space.
  out_bytes,     // Written; its size as for in_bytes.
  in_struct,     // Read; `bytes` long. May be null.
  out_struct,    // Written; `bytes` long. May be null.
  in_sized,      // Read; its size is the argument `size_from`, at most `bytes`. May be null.
  out_sized,     // Written; its size is the u32 that the argument `size_from` points to, at most
                 // `bytes`. May be null.
  inout_struct,  // Read and written; `bytes` long. May be null.
};

struct Parameter {
  Kind kind = Kind::none;
  const char* type = "";
  const char* name = "";
  std::uint8_t size_from = 0;
  std::uint16_t bytes = 0;
  const char* fallback = nullptr;  // The wrapper's default argument, if POSIX has one.
};

inline constexpr int parameters_max = 6;

struct Row {
  const char* name;  // As in the manual, section 2.
  std::uint16_t number;
  Family family;
  Blocking blocking;
  Role role;
  Parameter parameters[parameters_max];
};

// K2K's own call: has no effect; the server answers it. For measurements and tests.
inline constexpr std::uint16_t nop_number = 0xffff;
// K2K's own call: fills the pages of demand-paged regions in [address, address + count), at most
// fault_bytes_max bytes. Returns the number of bytes from `address` on that are now present, or
// -EFAULT outside of regions, and other errors (backend/demand_pages.hpp). The handler of a fault
// makes this call; from a kernel, it is a prefetch.
inline constexpr std::uint16_t fault_in_number = 0xfffd;
inline constexpr std::size_t fault_bytes_max = std::size_t{256} << 10;
// K2K's own call: runs a function of the host program (calls/host_call.hpp describes the words).
inline constexpr std::uint16_t host_call_number = 0xfffc;

namespace detail {
K2K_HD constexpr Parameter value(const char* type, const char* name,
                                 const char* fallback = nullptr) {
  return {Kind::value, type, name, 0, 0, fallback};
}
K2K_HD constexpr Parameter in_struct(const char* name, std::uint16_t bytes) {
  return {Kind::in_struct, "const void*", name, 0, bytes};
}
K2K_HD constexpr Parameter out_struct(const char* name, std::uint16_t bytes,
                                      const char* fallback = nullptr) {
  return {Kind::out_struct, "void*", name, 0, bytes, fallback};
}
K2K_HD constexpr Parameter inout_struct(const char* name, std::uint16_t bytes) {
  return {Kind::inout_struct, "void*", name, 0, bytes};
}
inline constexpr Parameter fd = {Kind::descriptor, "int", "fd", 0, 0};
inline constexpr Parameter directory = {Kind::descriptor, "int", "directory", 0, 0};
inline constexpr Parameter address = {Kind::address, "void*", "address", 0, 0};
inline constexpr Parameter path = {Kind::path, "const char*", "path", 0, 0};
inline constexpr Parameter count = {Kind::value, "std::size_t", "count", 0, 0};
inline constexpr Parameter mode = {Kind::value, "std::uint32_t", "mode", 0, 0, "0"};
inline constexpr Parameter offset = {Kind::value, "std::int64_t", "offset", 0, 0};
K2K_HD constexpr Parameter in(const char* name, std::uint8_t size_from) {
  return {Kind::in_bytes, "const void*", name, size_from, 0};
}
K2K_HD constexpr Parameter out(const char* name, std::uint8_t size_from) {
  return {Kind::out_bytes, "void*", name, size_from, 0};
}
}  // namespace detail

inline constexpr Row rows[] = {
    {"read",
     0,
     Family::file,
     Blocking::waits,
     Role::producer,
     {detail::fd, detail::out("buffer", 2), detail::count}},
    {"write",
     1,
     Family::file,
     Blocking::waits,
     Role::consumer,
     {detail::fd, detail::in("buffer", 2), detail::count}},
    {"open",
     2,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::path, detail::value("int", "flags"), detail::mode}},
    {"close", 3, Family::file, Blocking::rarely, Role::consumer, {detail::fd}},
    {"stat",
     4,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::path, detail::out_struct("status", 144)}},
    {"fstat",
     5,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::fd, detail::out_struct("status", 144)}},
    {"lstat",
     6,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::path, detail::out_struct("status", 144)}},
    {"lseek",
     8,
     Family::file,
     Blocking::never,
     Role::both,
     {detail::fd, detail::offset, detail::value("int", "whence")}},
    {"mmap",
     9,
     Family::memory,
     Blocking::rarely,
     Role::producer,
     {detail::address,
      {Kind::value, "std::size_t", "length", 0, 0},
      detail::value("int", "protection"),
      detail::value("int", "flags"),
      detail::fd,
      detail::offset}},
    {"mprotect",
     10,
     Family::memory,
     Blocking::never,
     Role::consumer,
     {detail::address, detail::value("std::size_t", "length"), detail::value("int", "protection")}},
    {"munmap",
     11,
     Family::memory,
     Blocking::rarely,
     Role::consumer,
     {detail::address, {Kind::value, "std::size_t", "length", 0, 0}}},
    {"ioctl",
     16,
     Family::device,
     Blocking::waits,
     Role::both,
     {detail::fd,
      detail::value("unsigned long", "request"),
      {Kind::opaque, "void*", "argument", 0, 0}}},
    {"pread",
     17,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::fd, detail::out("buffer", 2), detail::count, detail::offset}},
    {"pwrite",
     18,
     Family::file,
     Blocking::rarely,
     Role::consumer,
     {detail::fd, detail::in("buffer", 2), detail::count, detail::offset}},
    {"access",
     21,
     Family::directory,
     Blocking::rarely,
     Role::producer,
     {detail::path, detail::value("int", "mode")}},
    {"msync",
     26,
     Family::memory,
     Blocking::rarely,
     Role::consumer,
     {detail::address, detail::value("std::size_t", "length"), detail::value("int", "flags")}},
    {"madvise",
     28,
     Family::memory,
     Blocking::rarely,
     Role::consumer,
     {detail::address,
      {Kind::value, "std::size_t", "length", 0, 0},
      detail::value("int", "advice")}},
    {"dup", 32, Family::file, Blocking::never, Role::producer, {detail::fd}},
    {"nanosleep",
     35,
     Family::time,
     Blocking::waits,
     Role::consumer,
     {detail::in_struct("request", 16),
      {Kind::out_struct, "void*", "remaining", 0, 16, "nullptr"}}},
    {"getpid", 39, Family::process, Blocking::never, Role::producer, {}},
    {"socket",
     41,
     Family::network,
     Blocking::never,
     Role::producer,
     {detail::value("int", "domain"), detail::value("int", "type"),
      detail::value("int", "protocol")}},
    {"sendto",
     44,
     Family::network,
     Blocking::waits,
     Role::consumer,
     {detail::fd,
      detail::in("buffer", 2),
      detail::count,
      detail::value("int", "flags"),
      {Kind::in_sized, "const void*", "address", 5, 128},
      detail::value("std::uint32_t", "address_length")}},
    {"recvfrom",
     45,
     Family::network,
     Blocking::waits,
     Role::producer,
     {detail::fd,
      detail::out("buffer", 2),
      detail::count,
      detail::value("int", "flags"),
      {Kind::out_sized, "void*", "address", 5, 128},
      {Kind::inout_struct, "void*", "address_length", 0, 4}}},
    {"shutdown",
     48,
     Family::network,
     Blocking::never,
     Role::consumer,
     {detail::fd, detail::value("int", "how")}},
    {"listen",
     50,
     Family::network,
     Blocking::never,
     Role::consumer,
     {detail::fd, detail::value("int", "backlog")}},
    {"uname",
     63,
     Family::system,
     Blocking::never,
     Role::producer,
     {detail::out_struct("name", 390)}},
    {"fsync", 74, Family::file, Blocking::rarely, Role::consumer, {detail::fd}},
    {"fdatasync", 75, Family::file, Blocking::rarely, Role::consumer, {detail::fd}},
    {"truncate",
     76,
     Family::file,
     Blocking::rarely,
     Role::consumer,
     {detail::path, detail::value("std::int64_t", "length")}},
    {"ftruncate",
     77,
     Family::file,
     Blocking::rarely,
     Role::consumer,
     {detail::fd, detail::value("std::int64_t", "length")}},
    {"rename",
     82,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::path, {Kind::path, "const char*", "to", 0, 0}}},
    {"mkdir",
     83,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::path, detail::value("std::uint32_t", "mode")}},
    {"rmdir", 84, Family::directory, Blocking::rarely, Role::consumer, {detail::path}},
    {"link",
     86,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::path, {Kind::path, "const char*", "to", 0, 0}}},
    {"unlink", 87, Family::directory, Blocking::rarely, Role::consumer, {detail::path}},
    {"symlink",
     88,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {{Kind::path, "const char*", "target", 0, 0}, detail::path}},
    {"chmod",
     90,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::path, detail::value("std::uint32_t", "mode")}},
    {"fchmod",
     91,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::fd, detail::value("std::uint32_t", "mode")}},
    {"gettimeofday",
     96,
     Family::time,
     Blocking::never,
     Role::producer,
     {detail::out_struct("time", 16), detail::out_struct("zone", 8, "nullptr")}},
    {"getrlimit",
     97,
     Family::process,
     Blocking::never,
     Role::producer,
     {detail::value("int", "resource"), detail::out_struct("limit", 16)}},
    {"getrusage",
     98,
     Family::process,
     Blocking::never,
     Role::producer,
     {detail::value("int", "who"), detail::out_struct("usage", 144)}},
    {"sysinfo",
     99,
     Family::system,
     Blocking::never,
     Role::producer,
     {detail::out_struct("information", 112)}},
    {"times",
     100,
     Family::time,
     Blocking::never,
     Role::producer,
     {detail::out_struct("times", 32)}},
    {"getuid", 102, Family::process, Blocking::never, Role::producer, {}},
    {"getgid", 104, Family::process, Blocking::never, Role::producer, {}},
    {"geteuid", 107, Family::process, Blocking::never, Role::producer, {}},
    {"getegid", 108, Family::process, Blocking::never, Role::producer, {}},
    {"getppid", 110, Family::process, Blocking::never, Role::producer, {}},
    {"getpgrp", 111, Family::process, Blocking::never, Role::producer, {}},
    {"getresuid",
     118,
     Family::process,
     Blocking::never,
     Role::producer,
     {detail::out_struct("real", 4), detail::out_struct("effective", 4),
      detail::out_struct("saved", 4)}},
    {"getresgid",
     120,
     Family::process,
     Blocking::never,
     Role::producer,
     {detail::out_struct("real", 4), detail::out_struct("effective", 4),
      detail::out_struct("saved", 4)}},
    {"getpgid",
     121,
     Family::process,
     Blocking::never,
     Role::producer,
     {detail::value("int", "process")}},
    {"getsid",
     124,
     Family::process,
     Blocking::never,
     Role::producer,
     {detail::value("int", "process")}},
    {"rt_sigqueueinfo",
     129,
     Family::process,
     Blocking::never,
     Role::consumer,
     {detail::value("int", "process"), detail::value("int", "signal"),
      detail::in_struct("info", 128)}},
    {"statfs",
     137,
     Family::directory,
     Blocking::rarely,
     Role::producer,
     {detail::path, detail::out_struct("status", 120)}},
    {"fstatfs",
     138,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::fd, detail::out_struct("status", 120)}},
    {"sync", 162, Family::file, Blocking::rarely, Role::consumer, {}},
    {"time",
     201,
     Family::time,
     Blocking::never,
     Role::producer,
     {detail::out_struct("time", 8, "nullptr")}},
    {"getdents64",
     217,
     Family::directory,
     Blocking::rarely,
     Role::producer,
     {detail::fd, detail::out("entries", 2), detail::count}},
    {"fadvise64",
     221,
     Family::file,
     Blocking::rarely,
     Role::consumer,
     {detail::fd, detail::value("std::int64_t", "offset"), detail::value("std::size_t", "count"),
      detail::value("int", "advice")}},
    {"clock_gettime",
     228,
     Family::time,
     Blocking::never,
     Role::producer,
     {detail::value("int", "clock"), detail::out_struct("time", 16)}},
    {"clock_getres",
     229,
     Family::time,
     Blocking::never,
     Role::producer,
     {detail::value("int", "clock"), detail::out_struct("resolution", 16)}},
    {"openat",
     257,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::directory, detail::path, detail::value("int", "flags"), detail::mode}},
    {"mkdirat",
     258,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::directory, detail::path, detail::value("std::uint32_t", "mode")}},
    {"newfstatat",
     262,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::directory, detail::path, detail::out_struct("status", 144),
      detail::value("int", "flags")}},
    {"unlinkat",
     263,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::directory, detail::path, detail::value("int", "flags", "0")}},
    {"utimensat",
     280,
     Family::directory,
     Blocking::rarely,
     Role::consumer,
     {detail::directory, detail::path, detail::in_struct("times", 32),
      detail::value("int", "flags", "0")}},
    {"eventfd",
     284,
     Family::event,
     Blocking::never,
     Role::producer,
     {detail::value("unsigned", "value")}},
    {"fallocate",
     285,
     Family::file,
     Blocking::rarely,
     Role::consumer,
     {detail::fd, detail::value("int", "mode"), detail::value("std::int64_t", "offset"),
      detail::value("std::int64_t", "length")}},
    {"pipe2",
     293,
     Family::file,
     Blocking::never,
     Role::producer,
     {detail::out_struct("descriptors", 8), detail::value("int", "flags", "0")}},
    {"copy_file_range",
     326,
     Family::file,
     Blocking::rarely,
     Role::both,
     {detail::fd,
      detail::inout_struct("offset", 8),
      {Kind::descriptor, "int", "to", 0, 0},
      detail::inout_struct("to_offset", 8),
      detail::value("std::size_t", "count"),
      detail::value("unsigned", "flags", "0")}},
    {"statx",
     332,
     Family::file,
     Blocking::rarely,
     Role::producer,
     {detail::directory, detail::path, detail::value("int", "flags"),
      detail::value("unsigned", "mask"), detail::out_struct("status", 256)}},
    {"fault_in",
     fault_in_number,
     Family::own,
     Blocking::rarely,
     Role::both,
     {{Kind::address, "void*", "address", 0, 0},
      detail::count,
      {Kind::value, "int", "for_writing", 0, 0, "1"}}},
    {"host_call",
     host_call_number,
     Family::own,
     Blocking::waits,
     Role::both,
     {detail::value("std::uint64_t", "function"), detail::value("std::uint64_t", "signature"),
      detail::value("std::uint64_t", "first"), detail::value("std::uint64_t", "second"),
      detail::value("std::uint64_t", "third"), detail::value("std::uint64_t", "shape")}},
    {"nop", nop_number, Family::own, Blocking::never, Role::both, {}},
};

inline constexpr int row_count = static_cast<int>(sizeof(rows) / sizeof(rows[0]));

// Index into rows, or -1: a call without a row is passed on unchanged (services/policy.hpp).
K2K_HD constexpr int find(std::uint16_t number) {
  for (int index = 0; index < row_count; ++index) {
    if (rows[index].number == number) return index;
  }
  return -1;
}

// read, write, pread64, pwrite64: the host serves them with memory that only the device addresses,
// if it is registered (router/door/files.hpp).
K2K_HD constexpr bool takes_registered_memory(std::uint16_t number) {
  return number == 0 || number == 1 || number == 17 || number == 18;
}

K2K_HD constexpr int parameter_count(const Row& row) {
  int count = 0;
  while (count < parameters_max && row.parameters[count].kind != Kind::none) ++count;
  return count;
}

}  // namespace k2k::calls
