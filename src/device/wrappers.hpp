#pragma once
// Generated from calls/rows.hpp by device/generate: do not edit, run ./dev format.
//
// Typed wrappers: POSIX names and argument order behind a scope and, if wanted, options.
// Blocking and detached calls answer a Reply, async calls a Ticket.

// clang-format off
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "device/invoke.hpp"

namespace k2k {

namespace device {
template <class Scope>
using IfScope = std::enable_if_t<IsScope<Scope>::value>;
template <class Scope, class Chosen>
using IfCall = std::enable_if_t<IsScope<Scope>::value && IsOptions<Chosen>::value>;
}  // namespace device

// read(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto read(Scope scope, Chosen options, int fd, void* buffer, std::size_t count) {
  return device::call<0>(scope, options, fd, buffer, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto read(Scope scope, int fd, void* buffer, std::size_t count) {
  return device::call<0>(scope, strong, fd, buffer, count);
}

// write(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto write(Scope scope, Chosen options, int fd, const void* buffer, std::size_t count) {
  return device::call<1>(scope, options, fd, buffer, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto write(Scope scope, int fd, const void* buffer, std::size_t count) {
  return device::call<1>(scope, strong, fd, buffer, count);
}

// open(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto open(Scope scope, Chosen options, const char* path, int flags, std::uint32_t mode = 0) {
  return device::call<2>(scope, options, path, flags, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto open(Scope scope, const char* path, int flags, std::uint32_t mode = 0) {
  return device::call<2>(scope, strong, path, flags, mode);
}

// close(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto close(Scope scope, Chosen options, int fd) {
  return device::call<3>(scope, options, fd);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto close(Scope scope, int fd) {
  return device::call<3>(scope, strong, fd);
}

// stat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto stat(Scope scope, Chosen options, const char* path, void* status) {
  return device::call<4>(scope, options, path, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto stat(Scope scope, const char* path, void* status) {
  return device::call<4>(scope, strong, path, status);
}

// fstat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fstat(Scope scope, Chosen options, int fd, void* status) {
  return device::call<5>(scope, options, fd, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fstat(Scope scope, int fd, void* status) {
  return device::call<5>(scope, strong, fd, status);
}

// lstat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lstat(Scope scope, Chosen options, const char* path, void* status) {
  return device::call<6>(scope, options, path, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lstat(Scope scope, const char* path, void* status) {
  return device::call<6>(scope, strong, path, status);
}

// lseek(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lseek(Scope scope, Chosen options, int fd, std::int64_t offset, int whence) {
  return device::call<8>(scope, options, fd, offset, whence);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lseek(Scope scope, int fd, std::int64_t offset, int whence) {
  return device::call<8>(scope, strong, fd, offset, whence);
}

// pread(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pread(Scope scope, Chosen options, int fd, void* buffer, std::size_t count, std::int64_t offset) {
  return device::call<17>(scope, options, fd, buffer, count, offset);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pread(Scope scope, int fd, void* buffer, std::size_t count, std::int64_t offset) {
  return device::call<17>(scope, strong, fd, buffer, count, offset);
}

// pwrite(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pwrite(Scope scope, Chosen options, int fd, const void* buffer, std::size_t count, std::int64_t offset) {
  return device::call<18>(scope, options, fd, buffer, count, offset);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pwrite(Scope scope, int fd, const void* buffer, std::size_t count, std::int64_t offset) {
  return device::call<18>(scope, strong, fd, buffer, count, offset);
}

// dup(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto dup(Scope scope, Chosen options, int fd) {
  return device::call<32>(scope, options, fd);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto dup(Scope scope, int fd) {
  return device::call<32>(scope, strong, fd);
}

// fsync(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fsync(Scope scope, Chosen options, int fd) {
  return device::call<74>(scope, options, fd);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fsync(Scope scope, int fd) {
  return device::call<74>(scope, strong, fd);
}

// fdatasync(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fdatasync(Scope scope, Chosen options, int fd) {
  return device::call<75>(scope, options, fd);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fdatasync(Scope scope, int fd) {
  return device::call<75>(scope, strong, fd);
}

// truncate(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto truncate(Scope scope, Chosen options, const char* path, std::int64_t length) {
  return device::call<76>(scope, options, path, length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto truncate(Scope scope, const char* path, std::int64_t length) {
  return device::call<76>(scope, strong, path, length);
}

// ftruncate(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto ftruncate(Scope scope, Chosen options, int fd, std::int64_t length) {
  return device::call<77>(scope, options, fd, length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto ftruncate(Scope scope, int fd, std::int64_t length) {
  return device::call<77>(scope, strong, fd, length);
}

// fstatfs(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fstatfs(Scope scope, Chosen options, int fd, void* status) {
  return device::call<138>(scope, options, fd, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fstatfs(Scope scope, int fd, void* status) {
  return device::call<138>(scope, strong, fd, status);
}

// sync(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sync(Scope scope, Chosen options) {
  return device::call<162>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sync(Scope scope) {
  return device::call<162>(scope, strong);
}

// fadvise64(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fadvise64(Scope scope, Chosen options, int fd, std::int64_t offset, std::size_t count, int advice) {
  return device::call<221>(scope, options, fd, offset, count, advice);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fadvise64(Scope scope, int fd, std::int64_t offset, std::size_t count, int advice) {
  return device::call<221>(scope, strong, fd, offset, count, advice);
}

// openat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto openat(Scope scope, Chosen options, int directory, const char* path, int flags, std::uint32_t mode = 0) {
  return device::call<257>(scope, options, directory, path, flags, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto openat(Scope scope, int directory, const char* path, int flags, std::uint32_t mode = 0) {
  return device::call<257>(scope, strong, directory, path, flags, mode);
}

// newfstatat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto newfstatat(Scope scope, Chosen options, int directory, const char* path, void* status, int flags) {
  return device::call<262>(scope, options, directory, path, status, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto newfstatat(Scope scope, int directory, const char* path, void* status, int flags) {
  return device::call<262>(scope, strong, directory, path, status, flags);
}

// fallocate(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fallocate(Scope scope, Chosen options, int fd, int mode, std::int64_t offset, std::int64_t length) {
  return device::call<285>(scope, options, fd, mode, offset, length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fallocate(Scope scope, int fd, int mode, std::int64_t offset, std::int64_t length) {
  return device::call<285>(scope, strong, fd, mode, offset, length);
}

// pipe2(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pipe2(Scope scope, Chosen options, void* descriptors, int flags = 0) {
  return device::call<293>(scope, options, descriptors, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pipe2(Scope scope, void* descriptors, int flags = 0) {
  return device::call<293>(scope, strong, descriptors, flags);
}

// copy_file_range(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto copy_file_range(Scope scope, Chosen options, int fd, void* offset, int to, void* to_offset, std::size_t count, unsigned flags = 0) {
  return device::call<326>(scope, options, fd, offset, to, to_offset, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto copy_file_range(Scope scope, int fd, void* offset, int to, void* to_offset, std::size_t count, unsigned flags = 0) {
  return device::call<326>(scope, strong, fd, offset, to, to_offset, count, flags);
}

// statx(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto statx(Scope scope, Chosen options, int directory, const char* path, int flags, unsigned mask, void* status) {
  return device::call<332>(scope, options, directory, path, flags, mask, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto statx(Scope scope, int directory, const char* path, int flags, unsigned mask, void* status) {
  return device::call<332>(scope, strong, directory, path, flags, mask, status);
}

// access(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto access(Scope scope, Chosen options, const char* path, int mode) {
  return device::call<21>(scope, options, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto access(Scope scope, const char* path, int mode) {
  return device::call<21>(scope, strong, path, mode);
}

// rename(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto rename(Scope scope, Chosen options, const char* path, const char* to) {
  return device::call<82>(scope, options, path, to);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto rename(Scope scope, const char* path, const char* to) {
  return device::call<82>(scope, strong, path, to);
}

// mkdir(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mkdir(Scope scope, Chosen options, const char* path, std::uint32_t mode) {
  return device::call<83>(scope, options, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mkdir(Scope scope, const char* path, std::uint32_t mode) {
  return device::call<83>(scope, strong, path, mode);
}

// rmdir(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto rmdir(Scope scope, Chosen options, const char* path) {
  return device::call<84>(scope, options, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto rmdir(Scope scope, const char* path) {
  return device::call<84>(scope, strong, path);
}

// link(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto link(Scope scope, Chosen options, const char* path, const char* to) {
  return device::call<86>(scope, options, path, to);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto link(Scope scope, const char* path, const char* to) {
  return device::call<86>(scope, strong, path, to);
}

// unlink(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto unlink(Scope scope, Chosen options, const char* path) {
  return device::call<87>(scope, options, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto unlink(Scope scope, const char* path) {
  return device::call<87>(scope, strong, path);
}

// symlink(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto symlink(Scope scope, Chosen options, const char* target, const char* path) {
  return device::call<88>(scope, options, target, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto symlink(Scope scope, const char* target, const char* path) {
  return device::call<88>(scope, strong, target, path);
}

// chmod(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto chmod(Scope scope, Chosen options, const char* path, std::uint32_t mode) {
  return device::call<90>(scope, options, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto chmod(Scope scope, const char* path, std::uint32_t mode) {
  return device::call<90>(scope, strong, path, mode);
}

// fchmod(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fchmod(Scope scope, Chosen options, int fd, std::uint32_t mode) {
  return device::call<91>(scope, options, fd, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fchmod(Scope scope, int fd, std::uint32_t mode) {
  return device::call<91>(scope, strong, fd, mode);
}

// statfs(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto statfs(Scope scope, Chosen options, const char* path, void* status) {
  return device::call<137>(scope, options, path, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto statfs(Scope scope, const char* path, void* status) {
  return device::call<137>(scope, strong, path, status);
}

// getdents64(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getdents64(Scope scope, Chosen options, int fd, void* entries, std::size_t count) {
  return device::call<217>(scope, options, fd, entries, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getdents64(Scope scope, int fd, void* entries, std::size_t count) {
  return device::call<217>(scope, strong, fd, entries, count);
}

// mkdirat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mkdirat(Scope scope, Chosen options, int directory, const char* path, std::uint32_t mode) {
  return device::call<258>(scope, options, directory, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mkdirat(Scope scope, int directory, const char* path, std::uint32_t mode) {
  return device::call<258>(scope, strong, directory, path, mode);
}

// unlinkat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto unlinkat(Scope scope, Chosen options, int directory, const char* path, int flags = 0) {
  return device::call<263>(scope, options, directory, path, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto unlinkat(Scope scope, int directory, const char* path, int flags = 0) {
  return device::call<263>(scope, strong, directory, path, flags);
}

// utimensat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto utimensat(Scope scope, Chosen options, int directory, const char* path, const void* times, int flags = 0) {
  return device::call<280>(scope, options, directory, path, times, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto utimensat(Scope scope, int directory, const char* path, const void* times, int flags = 0) {
  return device::call<280>(scope, strong, directory, path, times, flags);
}

// socket(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto socket(Scope scope, Chosen options, int domain, int type, int protocol) {
  return device::call<41>(scope, options, domain, type, protocol);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto socket(Scope scope, int domain, int type, int protocol) {
  return device::call<41>(scope, strong, domain, type, protocol);
}

// sendto(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sendto(Scope scope, Chosen options, int fd, const void* buffer, std::size_t count, int flags, const void* address, std::uint32_t address_length) {
  return device::call<44>(scope, options, fd, buffer, count, flags, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sendto(Scope scope, int fd, const void* buffer, std::size_t count, int flags, const void* address, std::uint32_t address_length) {
  return device::call<44>(scope, strong, fd, buffer, count, flags, address, address_length);
}

// recvfrom(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto recvfrom(Scope scope, Chosen options, int fd, void* buffer, std::size_t count, int flags, void* address, void* address_length) {
  return device::call<45>(scope, options, fd, buffer, count, flags, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto recvfrom(Scope scope, int fd, void* buffer, std::size_t count, int flags, void* address, void* address_length) {
  return device::call<45>(scope, strong, fd, buffer, count, flags, address, address_length);
}

// shutdown(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto shutdown(Scope scope, Chosen options, int fd, int how) {
  return device::call<48>(scope, options, fd, how);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto shutdown(Scope scope, int fd, int how) {
  return device::call<48>(scope, strong, fd, how);
}

// listen(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto listen(Scope scope, Chosen options, int fd, int backlog) {
  return device::call<50>(scope, options, fd, backlog);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto listen(Scope scope, int fd, int backlog) {
  return device::call<50>(scope, strong, fd, backlog);
}

// mmap(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mmap(Scope scope, Chosen options, void* address, std::size_t length, int protection, int flags, int fd, std::int64_t offset) {
  return device::call<9>(scope, options, address, length, protection, flags, fd, offset);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mmap(Scope scope, void* address, std::size_t length, int protection, int flags, int fd, std::int64_t offset) {
  return device::call<9>(scope, strong, address, length, protection, flags, fd, offset);
}

// mprotect(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mprotect(Scope scope, Chosen options, void* address, std::size_t length, int protection) {
  return device::call<10>(scope, options, address, length, protection);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mprotect(Scope scope, void* address, std::size_t length, int protection) {
  return device::call<10>(scope, strong, address, length, protection);
}

// munmap(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto munmap(Scope scope, Chosen options, void* address, std::size_t length) {
  return device::call<11>(scope, options, address, length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto munmap(Scope scope, void* address, std::size_t length) {
  return device::call<11>(scope, strong, address, length);
}

// msync(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto msync(Scope scope, Chosen options, void* address, std::size_t length, int flags) {
  return device::call<26>(scope, options, address, length, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto msync(Scope scope, void* address, std::size_t length, int flags) {
  return device::call<26>(scope, strong, address, length, flags);
}

// madvise(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto madvise(Scope scope, Chosen options, void* address, std::size_t length, int advice) {
  return device::call<28>(scope, options, address, length, advice);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto madvise(Scope scope, void* address, std::size_t length, int advice) {
  return device::call<28>(scope, strong, address, length, advice);
}

// getpid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getpid(Scope scope, Chosen options) {
  return device::call<39>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getpid(Scope scope) {
  return device::call<39>(scope, strong);
}

// getrlimit(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getrlimit(Scope scope, Chosen options, int resource, void* limit) {
  return device::call<97>(scope, options, resource, limit);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getrlimit(Scope scope, int resource, void* limit) {
  return device::call<97>(scope, strong, resource, limit);
}

// getrusage(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getrusage(Scope scope, Chosen options, int who, void* usage) {
  return device::call<98>(scope, options, who, usage);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getrusage(Scope scope, int who, void* usage) {
  return device::call<98>(scope, strong, who, usage);
}

// getuid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getuid(Scope scope, Chosen options) {
  return device::call<102>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getuid(Scope scope) {
  return device::call<102>(scope, strong);
}

// getgid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getgid(Scope scope, Chosen options) {
  return device::call<104>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getgid(Scope scope) {
  return device::call<104>(scope, strong);
}

// geteuid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto geteuid(Scope scope, Chosen options) {
  return device::call<107>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto geteuid(Scope scope) {
  return device::call<107>(scope, strong);
}

// getegid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getegid(Scope scope, Chosen options) {
  return device::call<108>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getegid(Scope scope) {
  return device::call<108>(scope, strong);
}

// getppid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getppid(Scope scope, Chosen options) {
  return device::call<110>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getppid(Scope scope) {
  return device::call<110>(scope, strong);
}

// getpgrp(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getpgrp(Scope scope, Chosen options) {
  return device::call<111>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getpgrp(Scope scope) {
  return device::call<111>(scope, strong);
}

// getresuid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getresuid(Scope scope, Chosen options, void* real, void* effective, void* saved) {
  return device::call<118>(scope, options, real, effective, saved);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getresuid(Scope scope, void* real, void* effective, void* saved) {
  return device::call<118>(scope, strong, real, effective, saved);
}

// getresgid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getresgid(Scope scope, Chosen options, void* real, void* effective, void* saved) {
  return device::call<120>(scope, options, real, effective, saved);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getresgid(Scope scope, void* real, void* effective, void* saved) {
  return device::call<120>(scope, strong, real, effective, saved);
}

// getpgid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getpgid(Scope scope, Chosen options, int process) {
  return device::call<121>(scope, options, process);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getpgid(Scope scope, int process) {
  return device::call<121>(scope, strong, process);
}

// getsid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getsid(Scope scope, Chosen options, int process) {
  return device::call<124>(scope, options, process);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getsid(Scope scope, int process) {
  return device::call<124>(scope, strong, process);
}

// rt_sigqueueinfo(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto rt_sigqueueinfo(Scope scope, Chosen options, int process, int signal, const void* info) {
  return device::call<129>(scope, options, process, signal, info);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto rt_sigqueueinfo(Scope scope, int process, int signal, const void* info) {
  return device::call<129>(scope, strong, process, signal, info);
}

// ioctl(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto ioctl(Scope scope, Chosen options, int fd, unsigned long request, device::Argument argument) {
  return device::call<16>(scope, options, fd, request, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto ioctl(Scope scope, int fd, unsigned long request, device::Argument argument) {
  return device::call<16>(scope, strong, fd, request, argument);
}

// nanosleep(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto nanosleep(Scope scope, Chosen options, const void* request, void* remaining = nullptr) {
  return device::call<35>(scope, options, request, remaining);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto nanosleep(Scope scope, const void* request, void* remaining = nullptr) {
  return device::call<35>(scope, strong, request, remaining);
}

// gettimeofday(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto gettimeofday(Scope scope, Chosen options, void* time, void* zone = nullptr) {
  return device::call<96>(scope, options, time, zone);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto gettimeofday(Scope scope, void* time, void* zone = nullptr) {
  return device::call<96>(scope, strong, time, zone);
}

// times(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto times(Scope scope, Chosen options, void* times) {
  return device::call<100>(scope, options, times);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto times(Scope scope, void* times) {
  return device::call<100>(scope, strong, times);
}

// time(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto time(Scope scope, Chosen options, void* time = nullptr) {
  return device::call<201>(scope, options, time);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto time(Scope scope, void* time = nullptr) {
  return device::call<201>(scope, strong, time);
}

// clock_gettime(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto clock_gettime(Scope scope, Chosen options, int clock, void* time) {
  return device::call<228>(scope, options, clock, time);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto clock_gettime(Scope scope, int clock, void* time) {
  return device::call<228>(scope, strong, clock, time);
}

// clock_getres(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto clock_getres(Scope scope, Chosen options, int clock, void* resolution) {
  return device::call<229>(scope, options, clock, resolution);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto clock_getres(Scope scope, int clock, void* resolution) {
  return device::call<229>(scope, strong, clock, resolution);
}

// eventfd(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto eventfd(Scope scope, Chosen options, unsigned value) {
  return device::call<284>(scope, options, value);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto eventfd(Scope scope, unsigned value) {
  return device::call<284>(scope, strong, value);
}

// uname(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto uname(Scope scope, Chosen options, void* name) {
  return device::call<63>(scope, options, name);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto uname(Scope scope, void* name) {
  return device::call<63>(scope, strong, name);
}

// sysinfo(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sysinfo(Scope scope, Chosen options, void* information) {
  return device::call<99>(scope, options, information);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sysinfo(Scope scope, void* information) {
  return device::call<99>(scope, strong, information);
}

// fault_in(k2k): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fault_in(Scope scope, Chosen options, void* address, std::size_t count, int for_writing = 1) {
  return device::call<65533>(scope, options, address, count, for_writing);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fault_in(Scope scope, void* address, std::size_t count, int for_writing = 1) {
  return device::call<65533>(scope, strong, address, count, for_writing);
}

// nop(k2k): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto nop(Scope scope, Chosen options) {
  return device::call<65535>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto nop(Scope scope) {
  return device::call<65535>(scope, strong);
}

// pipe(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pipe(Scope scope, Chosen options, void* descriptors) {
  return device::call<22>(scope, options, descriptors);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pipe(Scope scope, void* descriptors) {
  return device::call<22>(scope, strong, descriptors);
}

// dup2(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto dup2(Scope scope, Chosen options, int fd, int to) {
  return device::call<33>(scope, options, fd, to);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto dup2(Scope scope, int fd, int to) {
  return device::call<33>(scope, strong, fd, to);
}

// sendfile(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sendfile(Scope scope, Chosen options, int to, int from, void* offset, std::size_t count) {
  return device::call<40>(scope, options, to, from, offset, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sendfile(Scope scope, int to, int from, void* offset, std::size_t count) {
  return device::call<40>(scope, strong, to, from, offset, count);
}

// flock(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto flock(Scope scope, Chosen options, int fd, int operation) {
  return device::call<73>(scope, options, fd, operation);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto flock(Scope scope, int fd, int operation) {
  return device::call<73>(scope, strong, fd, operation);
}

// creat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto creat(Scope scope, Chosen options, const char* path, std::uint32_t mode) {
  return device::call<85>(scope, options, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto creat(Scope scope, const char* path, std::uint32_t mode) {
  return device::call<85>(scope, strong, path, mode);
}

// readahead(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto readahead(Scope scope, Chosen options, int fd, std::int64_t offset, std::size_t count) {
  return device::call<187>(scope, options, fd, offset, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto readahead(Scope scope, int fd, std::int64_t offset, std::size_t count) {
  return device::call<187>(scope, strong, fd, offset, count);
}

// splice(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto splice(Scope scope, Chosen options, int fd, void* offset, int to, void* to_offset, std::size_t count, unsigned flags = 0) {
  return device::call<275>(scope, options, fd, offset, to, to_offset, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto splice(Scope scope, int fd, void* offset, int to, void* to_offset, std::size_t count, unsigned flags = 0) {
  return device::call<275>(scope, strong, fd, offset, to, to_offset, count, flags);
}

// tee(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto tee(Scope scope, Chosen options, int fd, int to, std::size_t count, unsigned flags = 0) {
  return device::call<276>(scope, options, fd, to, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto tee(Scope scope, int fd, int to, std::size_t count, unsigned flags = 0) {
  return device::call<276>(scope, strong, fd, to, count, flags);
}

// sync_file_range(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sync_file_range(Scope scope, Chosen options, int fd, std::int64_t offset, std::int64_t length, unsigned flags) {
  return device::call<277>(scope, options, fd, offset, length, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sync_file_range(Scope scope, int fd, std::int64_t offset, std::int64_t length, unsigned flags) {
  return device::call<277>(scope, strong, fd, offset, length, flags);
}

// dup3(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto dup3(Scope scope, Chosen options, int fd, int to, int flags = 0) {
  return device::call<292>(scope, options, fd, to, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto dup3(Scope scope, int fd, int to, int flags = 0) {
  return device::call<292>(scope, strong, fd, to, flags);
}

// syncfs(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto syncfs(Scope scope, Chosen options, int fd) {
  return device::call<306>(scope, options, fd);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto syncfs(Scope scope, int fd) {
  return device::call<306>(scope, strong, fd);
}

// close_range(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto close_range(Scope scope, Chosen options, unsigned first, unsigned last, int flags = 0) {
  return device::call<436>(scope, options, first, last, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto close_range(Scope scope, unsigned first, unsigned last, int flags = 0) {
  return device::call<436>(scope, strong, first, last, flags);
}

// openat2(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto openat2(Scope scope, Chosen options, int directory, const char* path, const void* how, std::size_t count) {
  return device::call<437>(scope, options, directory, path, how, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto openat2(Scope scope, int directory, const char* path, const void* how, std::size_t count) {
  return device::call<437>(scope, strong, directory, path, how, count);
}

// cachestat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto cachestat(Scope scope, Chosen options, int fd, const void* range, void* status, unsigned flags = 0) {
  return device::call<451>(scope, options, fd, range, status, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto cachestat(Scope scope, int fd, const void* range, void* status, unsigned flags = 0) {
  return device::call<451>(scope, strong, fd, range, status, flags);
}

// readv(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto readv(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count) {
  return device::call<19>(scope, options, fd, pieces, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto readv(Scope scope, int fd, const void* pieces, std::size_t count) {
  return device::call<19>(scope, strong, fd, pieces, count);
}

// writev(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto writev(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count) {
  return device::call<20>(scope, options, fd, pieces, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto writev(Scope scope, int fd, const void* pieces, std::size_t count) {
  return device::call<20>(scope, strong, fd, pieces, count);
}

// fcntl(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fcntl(Scope scope, Chosen options, int fd, int command, device::Argument argument = 0) {
  return device::call<72>(scope, options, fd, command, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fcntl(Scope scope, int fd, int command, device::Argument argument = 0) {
  return device::call<72>(scope, strong, fd, command, argument);
}

// io_destroy(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_destroy(Scope scope, Chosen options, std::uint64_t context) {
  return device::call<207>(scope, options, context);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_destroy(Scope scope, std::uint64_t context) {
  return device::call<207>(scope, strong, context);
}

// io_getevents(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_getevents(Scope scope, Chosen options, std::uint64_t context, long least, long count, void* events, const void* timeout) {
  return device::call<208>(scope, options, context, least, count, events, timeout);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_getevents(Scope scope, std::uint64_t context, long least, long count, void* events, const void* timeout) {
  return device::call<208>(scope, strong, context, least, count, events, timeout);
}

// io_cancel(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_cancel(Scope scope, Chosen options, std::uint64_t context, void* request, void* event) {
  return device::call<210>(scope, options, context, request, event);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_cancel(Scope scope, std::uint64_t context, void* request, void* event) {
  return device::call<210>(scope, strong, context, request, event);
}

// vmsplice(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto vmsplice(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count, unsigned flags = 0) {
  return device::call<278>(scope, options, fd, pieces, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto vmsplice(Scope scope, int fd, const void* pieces, std::size_t count, unsigned flags = 0) {
  return device::call<278>(scope, strong, fd, pieces, count, flags);
}

// preadv(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto preadv(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count, std::int64_t offset) {
  return device::call<295>(scope, options, fd, pieces, count, offset);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto preadv(Scope scope, int fd, const void* pieces, std::size_t count, std::int64_t offset) {
  return device::call<295>(scope, strong, fd, pieces, count, offset);
}

// pwritev(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pwritev(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count, std::int64_t offset) {
  return device::call<296>(scope, options, fd, pieces, count, offset);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pwritev(Scope scope, int fd, const void* pieces, std::size_t count, std::int64_t offset) {
  return device::call<296>(scope, strong, fd, pieces, count, offset);
}

// open_by_handle_at(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto open_by_handle_at(Scope scope, Chosen options, int mount, const void* handle, int flags) {
  return device::call<304>(scope, options, mount, handle, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto open_by_handle_at(Scope scope, int mount, const void* handle, int flags) {
  return device::call<304>(scope, strong, mount, handle, flags);
}

// preadv2(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto preadv2(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count, std::int64_t offset, std::uint64_t high, int flags) {
  return device::call<327>(scope, options, fd, pieces, count, offset, high, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto preadv2(Scope scope, int fd, const void* pieces, std::size_t count, std::int64_t offset, std::uint64_t high, int flags) {
  return device::call<327>(scope, strong, fd, pieces, count, offset, high, flags);
}

// pwritev2(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pwritev2(Scope scope, Chosen options, int fd, const void* pieces, std::size_t count, std::int64_t offset, std::uint64_t high, int flags) {
  return device::call<328>(scope, options, fd, pieces, count, offset, high, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pwritev2(Scope scope, int fd, const void* pieces, std::size_t count, std::int64_t offset, std::uint64_t high, int flags) {
  return device::call<328>(scope, strong, fd, pieces, count, offset, high, flags);
}

// io_pgetevents(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_pgetevents(Scope scope, Chosen options, std::uint64_t context, long least, long count, void* events, const void* timeout, const void* mask) {
  return device::call<333>(scope, options, context, least, count, events, timeout, mask);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_pgetevents(Scope scope, std::uint64_t context, long least, long count, void* events, const void* timeout, const void* mask) {
  return device::call<333>(scope, strong, context, least, count, events, timeout, mask);
}

// getdents(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getdents(Scope scope, Chosen options, int fd, void* entries, std::size_t count) {
  return device::call<78>(scope, options, fd, entries, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getdents(Scope scope, int fd, void* entries, std::size_t count) {
  return device::call<78>(scope, strong, fd, entries, count);
}

// getcwd(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getcwd(Scope scope, Chosen options, void* path, std::size_t count) {
  return device::call<79>(scope, options, path, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getcwd(Scope scope, void* path, std::size_t count) {
  return device::call<79>(scope, strong, path, count);
}

// readlink(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto readlink(Scope scope, Chosen options, const char* path, void* target, int count) {
  return device::call<89>(scope, options, path, target, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto readlink(Scope scope, const char* path, void* target, int count) {
  return device::call<89>(scope, strong, path, target, count);
}

// chown(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto chown(Scope scope, Chosen options, const char* path, std::uint32_t owner, std::uint32_t group) {
  return device::call<92>(scope, options, path, owner, group);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto chown(Scope scope, const char* path, std::uint32_t owner, std::uint32_t group) {
  return device::call<92>(scope, strong, path, owner, group);
}

// fchown(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fchown(Scope scope, Chosen options, int fd, std::uint32_t owner, std::uint32_t group) {
  return device::call<93>(scope, options, fd, owner, group);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fchown(Scope scope, int fd, std::uint32_t owner, std::uint32_t group) {
  return device::call<93>(scope, strong, fd, owner, group);
}

// lchown(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lchown(Scope scope, Chosen options, const char* path, std::uint32_t owner, std::uint32_t group) {
  return device::call<94>(scope, options, path, owner, group);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lchown(Scope scope, const char* path, std::uint32_t owner, std::uint32_t group) {
  return device::call<94>(scope, strong, path, owner, group);
}

// utime(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto utime(Scope scope, Chosen options, const char* path, const void* times) {
  return device::call<132>(scope, options, path, times);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto utime(Scope scope, const char* path, const void* times) {
  return device::call<132>(scope, strong, path, times);
}

// mknod(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mknod(Scope scope, Chosen options, const char* path, std::uint32_t mode, unsigned device = 0) {
  return device::call<133>(scope, options, path, mode, device);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mknod(Scope scope, const char* path, std::uint32_t mode, unsigned device = 0) {
  return device::call<133>(scope, strong, path, mode, device);
}

// umount2(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto umount2(Scope scope, Chosen options, const char* path, int flags = 0) {
  return device::call<166>(scope, options, path, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto umount2(Scope scope, const char* path, int flags = 0) {
  return device::call<166>(scope, strong, path, flags);
}

// setxattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto setxattr(Scope scope, Chosen options, const char* path, const char* name, const void* content, std::size_t count, int flags = 0) {
  return device::call<188>(scope, options, path, name, content, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto setxattr(Scope scope, const char* path, const char* name, const void* content, std::size_t count, int flags = 0) {
  return device::call<188>(scope, strong, path, name, content, count, flags);
}

// lsetxattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lsetxattr(Scope scope, Chosen options, const char* path, const char* name, const void* content, std::size_t count, int flags = 0) {
  return device::call<189>(scope, options, path, name, content, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lsetxattr(Scope scope, const char* path, const char* name, const void* content, std::size_t count, int flags = 0) {
  return device::call<189>(scope, strong, path, name, content, count, flags);
}

// fsetxattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fsetxattr(Scope scope, Chosen options, int fd, const char* name, const void* content, std::size_t count, int flags = 0) {
  return device::call<190>(scope, options, fd, name, content, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fsetxattr(Scope scope, int fd, const char* name, const void* content, std::size_t count, int flags = 0) {
  return device::call<190>(scope, strong, fd, name, content, count, flags);
}

// getxattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getxattr(Scope scope, Chosen options, const char* path, const char* name, void* content, std::size_t count) {
  return device::call<191>(scope, options, path, name, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getxattr(Scope scope, const char* path, const char* name, void* content, std::size_t count) {
  return device::call<191>(scope, strong, path, name, content, count);
}

// lgetxattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lgetxattr(Scope scope, Chosen options, const char* path, const char* name, void* content, std::size_t count) {
  return device::call<192>(scope, options, path, name, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lgetxattr(Scope scope, const char* path, const char* name, void* content, std::size_t count) {
  return device::call<192>(scope, strong, path, name, content, count);
}

// fgetxattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fgetxattr(Scope scope, Chosen options, int fd, const char* name, void* content, std::size_t count) {
  return device::call<193>(scope, options, fd, name, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fgetxattr(Scope scope, int fd, const char* name, void* content, std::size_t count) {
  return device::call<193>(scope, strong, fd, name, content, count);
}

// listxattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto listxattr(Scope scope, Chosen options, const char* path, void* names, std::size_t count) {
  return device::call<194>(scope, options, path, names, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto listxattr(Scope scope, const char* path, void* names, std::size_t count) {
  return device::call<194>(scope, strong, path, names, count);
}

// llistxattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto llistxattr(Scope scope, Chosen options, const char* path, void* names, std::size_t count) {
  return device::call<195>(scope, options, path, names, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto llistxattr(Scope scope, const char* path, void* names, std::size_t count) {
  return device::call<195>(scope, strong, path, names, count);
}

// flistxattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto flistxattr(Scope scope, Chosen options, int fd, void* names, std::size_t count) {
  return device::call<196>(scope, options, fd, names, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto flistxattr(Scope scope, int fd, void* names, std::size_t count) {
  return device::call<196>(scope, strong, fd, names, count);
}

// removexattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto removexattr(Scope scope, Chosen options, const char* path, const char* name) {
  return device::call<197>(scope, options, path, name);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto removexattr(Scope scope, const char* path, const char* name) {
  return device::call<197>(scope, strong, path, name);
}

// lremovexattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lremovexattr(Scope scope, Chosen options, const char* path, const char* name) {
  return device::call<198>(scope, options, path, name);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lremovexattr(Scope scope, const char* path, const char* name) {
  return device::call<198>(scope, strong, path, name);
}

// fremovexattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fremovexattr(Scope scope, Chosen options, int fd, const char* name) {
  return device::call<199>(scope, options, fd, name);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fremovexattr(Scope scope, int fd, const char* name) {
  return device::call<199>(scope, strong, fd, name);
}

// utimes(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto utimes(Scope scope, Chosen options, const char* path, const void* times) {
  return device::call<235>(scope, options, path, times);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto utimes(Scope scope, const char* path, const void* times) {
  return device::call<235>(scope, strong, path, times);
}

// mknodat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mknodat(Scope scope, Chosen options, int directory, const char* path, std::uint32_t mode, unsigned device = 0) {
  return device::call<259>(scope, options, directory, path, mode, device);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mknodat(Scope scope, int directory, const char* path, std::uint32_t mode, unsigned device = 0) {
  return device::call<259>(scope, strong, directory, path, mode, device);
}

// fchownat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fchownat(Scope scope, Chosen options, int directory, const char* path, std::uint32_t owner, std::uint32_t group, int flags = 0) {
  return device::call<260>(scope, options, directory, path, owner, group, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fchownat(Scope scope, int directory, const char* path, std::uint32_t owner, std::uint32_t group, int flags = 0) {
  return device::call<260>(scope, strong, directory, path, owner, group, flags);
}

// futimesat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto futimesat(Scope scope, Chosen options, int directory, const char* path, const void* times) {
  return device::call<261>(scope, options, directory, path, times);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto futimesat(Scope scope, int directory, const char* path, const void* times) {
  return device::call<261>(scope, strong, directory, path, times);
}

// renameat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto renameat(Scope scope, Chosen options, int directory, const char* path, int to_directory, const char* to) {
  return device::call<264>(scope, options, directory, path, to_directory, to);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto renameat(Scope scope, int directory, const char* path, int to_directory, const char* to) {
  return device::call<264>(scope, strong, directory, path, to_directory, to);
}

// linkat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto linkat(Scope scope, Chosen options, int directory, const char* path, int to_directory, const char* to, int flags = 0) {
  return device::call<265>(scope, options, directory, path, to_directory, to, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto linkat(Scope scope, int directory, const char* path, int to_directory, const char* to, int flags = 0) {
  return device::call<265>(scope, strong, directory, path, to_directory, to, flags);
}

// symlinkat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto symlinkat(Scope scope, Chosen options, const char* target, int directory, const char* path) {
  return device::call<266>(scope, options, target, directory, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto symlinkat(Scope scope, const char* target, int directory, const char* path) {
  return device::call<266>(scope, strong, target, directory, path);
}

// readlinkat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto readlinkat(Scope scope, Chosen options, int directory, const char* path, void* target, int count) {
  return device::call<267>(scope, options, directory, path, target, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto readlinkat(Scope scope, int directory, const char* path, void* target, int count) {
  return device::call<267>(scope, strong, directory, path, target, count);
}

// fchmodat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fchmodat(Scope scope, Chosen options, int directory, const char* path, std::uint32_t mode) {
  return device::call<268>(scope, options, directory, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fchmodat(Scope scope, int directory, const char* path, std::uint32_t mode) {
  return device::call<268>(scope, strong, directory, path, mode);
}

// faccessat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto faccessat(Scope scope, Chosen options, int directory, const char* path, int mode) {
  return device::call<269>(scope, options, directory, path, mode);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto faccessat(Scope scope, int directory, const char* path, int mode) {
  return device::call<269>(scope, strong, directory, path, mode);
}

// renameat2(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto renameat2(Scope scope, Chosen options, int directory, const char* path, int to_directory, const char* to, unsigned flags = 0) {
  return device::call<316>(scope, options, directory, path, to_directory, to, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto renameat2(Scope scope, int directory, const char* path, int to_directory, const char* to, unsigned flags = 0) {
  return device::call<316>(scope, strong, directory, path, to_directory, to, flags);
}

// open_tree(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto open_tree(Scope scope, Chosen options, int directory, const char* path, unsigned flags) {
  return device::call<428>(scope, options, directory, path, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto open_tree(Scope scope, int directory, const char* path, unsigned flags) {
  return device::call<428>(scope, strong, directory, path, flags);
}

// move_mount(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto move_mount(Scope scope, Chosen options, int directory, const char* path, int to_directory, const char* to, unsigned flags) {
  return device::call<429>(scope, options, directory, path, to_directory, to, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto move_mount(Scope scope, int directory, const char* path, int to_directory, const char* to, unsigned flags) {
  return device::call<429>(scope, strong, directory, path, to_directory, to, flags);
}

// fsopen(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fsopen(Scope scope, Chosen options, const char* type, unsigned flags = 0) {
  return device::call<430>(scope, options, type, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fsopen(Scope scope, const char* type, unsigned flags = 0) {
  return device::call<430>(scope, strong, type, flags);
}

// fsmount(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fsmount(Scope scope, Chosen options, int fd, unsigned flags, unsigned attributes) {
  return device::call<432>(scope, options, fd, flags, attributes);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fsmount(Scope scope, int fd, unsigned flags, unsigned attributes) {
  return device::call<432>(scope, strong, fd, flags, attributes);
}

// fspick(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fspick(Scope scope, Chosen options, int directory, const char* path, unsigned flags) {
  return device::call<433>(scope, options, directory, path, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fspick(Scope scope, int directory, const char* path, unsigned flags) {
  return device::call<433>(scope, strong, directory, path, flags);
}

// faccessat2(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto faccessat2(Scope scope, Chosen options, int directory, const char* path, int mode, int flags) {
  return device::call<439>(scope, options, directory, path, mode, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto faccessat2(Scope scope, int directory, const char* path, int mode, int flags) {
  return device::call<439>(scope, strong, directory, path, mode, flags);
}

// mount_setattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mount_setattr(Scope scope, Chosen options, int directory, const char* path, unsigned flags, const void* attributes, std::size_t count) {
  return device::call<442>(scope, options, directory, path, flags, attributes, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mount_setattr(Scope scope, int directory, const char* path, unsigned flags, const void* attributes, std::size_t count) {
  return device::call<442>(scope, strong, directory, path, flags, attributes, count);
}

// fchmodat2(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fchmodat2(Scope scope, Chosen options, int directory, const char* path, std::uint32_t mode, unsigned flags) {
  return device::call<452>(scope, options, directory, path, mode, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fchmodat2(Scope scope, int directory, const char* path, std::uint32_t mode, unsigned flags) {
  return device::call<452>(scope, strong, directory, path, mode, flags);
}

// mount(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mount(Scope scope, Chosen options, const char* source, const char* path, const char* type, unsigned long flags, const char* data) {
  return device::call<165>(scope, options, source, path, type, flags, data);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mount(Scope scope, const char* source, const char* path, const char* type, unsigned long flags, const char* data) {
  return device::call<165>(scope, strong, source, path, type, flags, data);
}

// name_to_handle_at(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto name_to_handle_at(Scope scope, Chosen options, int directory, const char* path, void* handle, device::Argument mount, int flags = 0) {
  return device::call<303>(scope, options, directory, path, handle, mount, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto name_to_handle_at(Scope scope, int directory, const char* path, void* handle, device::Argument mount, int flags = 0) {
  return device::call<303>(scope, strong, directory, path, handle, mount, flags);
}

// fsconfig(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fsconfig(Scope scope, Chosen options, int fd, unsigned command, const char* key, device::Argument content, int number = 0) {
  return device::call<431>(scope, options, fd, command, key, content, number);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fsconfig(Scope scope, int fd, unsigned command, const char* key, device::Argument content, int number = 0) {
  return device::call<431>(scope, strong, fd, command, key, content, number);
}

// statmount(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto statmount(Scope scope, Chosen options, const void* request, void* status, std::size_t count, unsigned flags = 0) {
  return device::call<457>(scope, options, request, status, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto statmount(Scope scope, const void* request, void* status, std::size_t count, unsigned flags = 0) {
  return device::call<457>(scope, strong, request, status, count, flags);
}

// listmount(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto listmount(Scope scope, Chosen options, const void* request, void* mounts, std::size_t count, unsigned flags = 0) {
  return device::call<458>(scope, options, request, mounts, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto listmount(Scope scope, const void* request, void* mounts, std::size_t count, unsigned flags = 0) {
  return device::call<458>(scope, strong, request, mounts, count, flags);
}

// setxattrat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto setxattrat(Scope scope, Chosen options, int directory, const char* path, unsigned flags, const char* name, const void* content, std::size_t count) {
  return device::call<463>(scope, options, directory, path, flags, name, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto setxattrat(Scope scope, int directory, const char* path, unsigned flags, const char* name, const void* content, std::size_t count) {
  return device::call<463>(scope, strong, directory, path, flags, name, content, count);
}

// getxattrat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getxattrat(Scope scope, Chosen options, int directory, const char* path, unsigned flags, const char* name, const void* content, std::size_t count) {
  return device::call<464>(scope, options, directory, path, flags, name, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getxattrat(Scope scope, int directory, const char* path, unsigned flags, const char* name, const void* content, std::size_t count) {
  return device::call<464>(scope, strong, directory, path, flags, name, content, count);
}

// listxattrat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto listxattrat(Scope scope, Chosen options, int directory, const char* path, unsigned flags, void* names, std::size_t count) {
  return device::call<465>(scope, options, directory, path, flags, names, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto listxattrat(Scope scope, int directory, const char* path, unsigned flags, void* names, std::size_t count) {
  return device::call<465>(scope, strong, directory, path, flags, names, count);
}

// removexattrat(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto removexattrat(Scope scope, Chosen options, int directory, const char* path, unsigned flags, const char* name) {
  return device::call<466>(scope, options, directory, path, flags, name);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto removexattrat(Scope scope, int directory, const char* path, unsigned flags, const char* name) {
  return device::call<466>(scope, strong, directory, path, flags, name);
}

// open_tree_attr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto open_tree_attr(Scope scope, Chosen options, int directory, const char* path, unsigned flags, const void* attributes, std::size_t count) {
  return device::call<467>(scope, options, directory, path, flags, attributes, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto open_tree_attr(Scope scope, int directory, const char* path, unsigned flags, const void* attributes, std::size_t count) {
  return device::call<467>(scope, strong, directory, path, flags, attributes, count);
}

// file_getattr(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto file_getattr(Scope scope, Chosen options, int directory, const char* path, void* attributes, std::size_t count, unsigned flags = 0) {
  return device::call<468>(scope, options, directory, path, attributes, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto file_getattr(Scope scope, int directory, const char* path, void* attributes, std::size_t count, unsigned flags = 0) {
  return device::call<468>(scope, strong, directory, path, attributes, count, flags);
}

// file_setattr(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto file_setattr(Scope scope, Chosen options, int directory, const char* path, const void* attributes, std::size_t count, unsigned flags = 0) {
  return device::call<469>(scope, options, directory, path, attributes, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto file_setattr(Scope scope, int directory, const char* path, const void* attributes, std::size_t count, unsigned flags = 0) {
  return device::call<469>(scope, strong, directory, path, attributes, count, flags);
}

// poll(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto poll(Scope scope, Chosen options, void* watched, unsigned count, int timeout) {
  return device::call<7>(scope, options, watched, count, timeout);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto poll(Scope scope, void* watched, unsigned count, int timeout) {
  return device::call<7>(scope, strong, watched, count, timeout);
}

// epoll_create(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto epoll_create(Scope scope, Chosen options, int size) {
  return device::call<213>(scope, options, size);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto epoll_create(Scope scope, int size) {
  return device::call<213>(scope, strong, size);
}

// epoll_wait(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto epoll_wait(Scope scope, Chosen options, int fd, void* events, int count, int timeout) {
  return device::call<232>(scope, options, fd, events, count, timeout);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto epoll_wait(Scope scope, int fd, void* events, int count, int timeout) {
  return device::call<232>(scope, strong, fd, events, count, timeout);
}

// epoll_ctl(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto epoll_ctl(Scope scope, Chosen options, int fd, int operation, int watched, const void* event) {
  return device::call<233>(scope, options, fd, operation, watched, event);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto epoll_ctl(Scope scope, int fd, int operation, int watched, const void* event) {
  return device::call<233>(scope, strong, fd, operation, watched, event);
}

// inotify_init(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto inotify_init(Scope scope, Chosen options) {
  return device::call<253>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto inotify_init(Scope scope) {
  return device::call<253>(scope, strong);
}

// inotify_add_watch(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto inotify_add_watch(Scope scope, Chosen options, int fd, const char* path, std::uint32_t mask) {
  return device::call<254>(scope, options, fd, path, mask);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto inotify_add_watch(Scope scope, int fd, const char* path, std::uint32_t mask) {
  return device::call<254>(scope, strong, fd, path, mask);
}

// inotify_rm_watch(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto inotify_rm_watch(Scope scope, Chosen options, int fd, int watch) {
  return device::call<255>(scope, options, fd, watch);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto inotify_rm_watch(Scope scope, int fd, int watch) {
  return device::call<255>(scope, strong, fd, watch);
}

// ppoll(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto ppoll(Scope scope, Chosen options, void* watched, unsigned count, void* timeout, const void* mask, std::size_t mask_size) {
  return device::call<271>(scope, options, watched, count, timeout, mask, mask_size);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto ppoll(Scope scope, void* watched, unsigned count, void* timeout, const void* mask, std::size_t mask_size) {
  return device::call<271>(scope, strong, watched, count, timeout, mask, mask_size);
}

// epoll_pwait(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto epoll_pwait(Scope scope, Chosen options, int fd, void* events, int count, int timeout, const void* mask, std::size_t mask_size) {
  return device::call<281>(scope, options, fd, events, count, timeout, mask, mask_size);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto epoll_pwait(Scope scope, int fd, void* events, int count, int timeout, const void* mask, std::size_t mask_size) {
  return device::call<281>(scope, strong, fd, events, count, timeout, mask, mask_size);
}

// eventfd2(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto eventfd2(Scope scope, Chosen options, unsigned value, int flags = 0) {
  return device::call<290>(scope, options, value, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto eventfd2(Scope scope, unsigned value, int flags = 0) {
  return device::call<290>(scope, strong, value, flags);
}

// epoll_create1(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto epoll_create1(Scope scope, Chosen options, int flags = 0) {
  return device::call<291>(scope, options, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto epoll_create1(Scope scope, int flags = 0) {
  return device::call<291>(scope, strong, flags);
}

// inotify_init1(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto inotify_init1(Scope scope, Chosen options, int flags = 0) {
  return device::call<294>(scope, options, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto inotify_init1(Scope scope, int flags = 0) {
  return device::call<294>(scope, strong, flags);
}

// fanotify_init(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fanotify_init(Scope scope, Chosen options, unsigned flags, unsigned event_flags) {
  return device::call<300>(scope, options, flags, event_flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fanotify_init(Scope scope, unsigned flags, unsigned event_flags) {
  return device::call<300>(scope, strong, flags, event_flags);
}

// fanotify_mark(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fanotify_mark(Scope scope, Chosen options, int fd, unsigned flags, std::uint64_t mask, int directory, const char* path) {
  return device::call<301>(scope, options, fd, flags, mask, directory, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fanotify_mark(Scope scope, int fd, unsigned flags, std::uint64_t mask, int directory, const char* path) {
  return device::call<301>(scope, strong, fd, flags, mask, directory, path);
}

// epoll_pwait2(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto epoll_pwait2(Scope scope, Chosen options, int fd, void* events, int count, const void* timeout, const void* mask, std::size_t mask_size) {
  return device::call<441>(scope, options, fd, events, count, timeout, mask, mask_size);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto epoll_pwait2(Scope scope, int fd, void* events, int count, const void* timeout, const void* mask, std::size_t mask_size) {
  return device::call<441>(scope, strong, fd, events, count, timeout, mask, mask_size);
}

// select(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto select(Scope scope, Chosen options, int count, void* readable, void* writable, void* exceptional, void* timeout) {
  return device::call<23>(scope, options, count, readable, writable, exceptional, timeout);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto select(Scope scope, int count, void* readable, void* writable, void* exceptional, void* timeout) {
  return device::call<23>(scope, strong, count, readable, writable, exceptional, timeout);
}

// pselect6(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pselect6(Scope scope, Chosen options, int count, void* readable, void* writable, void* exceptional, void* timeout, const void* mask) {
  return device::call<270>(scope, options, count, readable, writable, exceptional, timeout, mask);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pselect6(Scope scope, int count, void* readable, void* writable, void* exceptional, void* timeout, const void* mask) {
  return device::call<270>(scope, strong, count, readable, writable, exceptional, timeout, mask);
}

// getitimer(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getitimer(Scope scope, Chosen options, int which, void* timer) {
  return device::call<36>(scope, options, which, timer);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getitimer(Scope scope, int which, void* timer) {
  return device::call<36>(scope, strong, which, timer);
}

// adjtimex(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto adjtimex(Scope scope, Chosen options, void* state) {
  return device::call<159>(scope, options, state);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto adjtimex(Scope scope, void* state) {
  return device::call<159>(scope, strong, state);
}

// settimeofday(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto settimeofday(Scope scope, Chosen options, const void* time, const void* zone) {
  return device::call<164>(scope, options, time, zone);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto settimeofday(Scope scope, const void* time, const void* zone) {
  return device::call<164>(scope, strong, time, zone);
}

// timer_settime(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timer_settime(Scope scope, Chosen options, int timer, int flags, const void* setting, void* before = nullptr) {
  return device::call<223>(scope, options, timer, flags, setting, before);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timer_settime(Scope scope, int timer, int flags, const void* setting, void* before = nullptr) {
  return device::call<223>(scope, strong, timer, flags, setting, before);
}

// timer_gettime(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timer_gettime(Scope scope, Chosen options, int timer, void* setting) {
  return device::call<224>(scope, options, timer, setting);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timer_gettime(Scope scope, int timer, void* setting) {
  return device::call<224>(scope, strong, timer, setting);
}

// timer_getoverrun(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timer_getoverrun(Scope scope, Chosen options, int timer) {
  return device::call<225>(scope, options, timer);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timer_getoverrun(Scope scope, int timer) {
  return device::call<225>(scope, strong, timer);
}

// timer_delete(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timer_delete(Scope scope, Chosen options, int timer) {
  return device::call<226>(scope, options, timer);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timer_delete(Scope scope, int timer) {
  return device::call<226>(scope, strong, timer);
}

// clock_settime(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto clock_settime(Scope scope, Chosen options, int clock, const void* time) {
  return device::call<227>(scope, options, clock, time);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto clock_settime(Scope scope, int clock, const void* time) {
  return device::call<227>(scope, strong, clock, time);
}

// clock_nanosleep(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto clock_nanosleep(Scope scope, Chosen options, int clock, int flags, const void* request, void* remaining = nullptr) {
  return device::call<230>(scope, options, clock, flags, request, remaining);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto clock_nanosleep(Scope scope, int clock, int flags, const void* request, void* remaining = nullptr) {
  return device::call<230>(scope, strong, clock, flags, request, remaining);
}

// timerfd_create(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timerfd_create(Scope scope, Chosen options, int clock, int flags = 0) {
  return device::call<283>(scope, options, clock, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timerfd_create(Scope scope, int clock, int flags = 0) {
  return device::call<283>(scope, strong, clock, flags);
}

// timerfd_settime(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timerfd_settime(Scope scope, Chosen options, int fd, int flags, const void* setting, void* before = nullptr) {
  return device::call<286>(scope, options, fd, flags, setting, before);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timerfd_settime(Scope scope, int fd, int flags, const void* setting, void* before = nullptr) {
  return device::call<286>(scope, strong, fd, flags, setting, before);
}

// timerfd_gettime(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timerfd_gettime(Scope scope, Chosen options, int fd, void* setting) {
  return device::call<287>(scope, options, fd, setting);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timerfd_gettime(Scope scope, int fd, void* setting) {
  return device::call<287>(scope, strong, fd, setting);
}

// clock_adjtime(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto clock_adjtime(Scope scope, Chosen options, int clock, void* state) {
  return device::call<305>(scope, options, clock, state);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto clock_adjtime(Scope scope, int clock, void* state) {
  return device::call<305>(scope, strong, clock, state);
}

// connect(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto connect(Scope scope, Chosen options, int fd, const void* address, int address_length) {
  return device::call<42>(scope, options, fd, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto connect(Scope scope, int fd, const void* address, int address_length) {
  return device::call<42>(scope, strong, fd, address, address_length);
}

// accept(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto accept(Scope scope, Chosen options, int fd, void* address, void* address_length) {
  return device::call<43>(scope, options, fd, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto accept(Scope scope, int fd, void* address, void* address_length) {
  return device::call<43>(scope, strong, fd, address, address_length);
}

// bind(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto bind(Scope scope, Chosen options, int fd, const void* address, int address_length) {
  return device::call<49>(scope, options, fd, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto bind(Scope scope, int fd, const void* address, int address_length) {
  return device::call<49>(scope, strong, fd, address, address_length);
}

// getsockname(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getsockname(Scope scope, Chosen options, int fd, void* address, void* address_length) {
  return device::call<51>(scope, options, fd, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getsockname(Scope scope, int fd, void* address, void* address_length) {
  return device::call<51>(scope, strong, fd, address, address_length);
}

// getpeername(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getpeername(Scope scope, Chosen options, int fd, void* address, void* address_length) {
  return device::call<52>(scope, options, fd, address, address_length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getpeername(Scope scope, int fd, void* address, void* address_length) {
  return device::call<52>(scope, strong, fd, address, address_length);
}

// socketpair(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto socketpair(Scope scope, Chosen options, int domain, int type, int protocol, void* descriptors) {
  return device::call<53>(scope, options, domain, type, protocol, descriptors);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto socketpair(Scope scope, int domain, int type, int protocol, void* descriptors) {
  return device::call<53>(scope, strong, domain, type, protocol, descriptors);
}

// setsockopt(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto setsockopt(Scope scope, Chosen options, int fd, int level, int option, const void* content, int count) {
  return device::call<54>(scope, options, fd, level, option, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto setsockopt(Scope scope, int fd, int level, int option, const void* content, int count) {
  return device::call<54>(scope, strong, fd, level, option, content, count);
}

// getsockopt(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getsockopt(Scope scope, Chosen options, int fd, int level, int option, void* content, void* count) {
  return device::call<55>(scope, options, fd, level, option, content, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getsockopt(Scope scope, int fd, int level, int option, void* content, void* count) {
  return device::call<55>(scope, strong, fd, level, option, content, count);
}

// sethostname(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sethostname(Scope scope, Chosen options, const void* name, int count) {
  return device::call<170>(scope, options, name, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sethostname(Scope scope, const void* name, int count) {
  return device::call<170>(scope, strong, name, count);
}

// setdomainname(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto setdomainname(Scope scope, Chosen options, const void* name, int count) {
  return device::call<171>(scope, options, name, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto setdomainname(Scope scope, const void* name, int count) {
  return device::call<171>(scope, strong, name, count);
}

// accept4(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto accept4(Scope scope, Chosen options, int fd, void* address, void* address_length, int flags = 0) {
  return device::call<288>(scope, options, fd, address, address_length, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto accept4(Scope scope, int fd, void* address, void* address_length, int flags = 0) {
  return device::call<288>(scope, strong, fd, address, address_length, flags);
}

// sendmsg(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sendmsg(Scope scope, Chosen options, int fd, const void* message, int flags = 0) {
  return device::call<46>(scope, options, fd, message, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sendmsg(Scope scope, int fd, const void* message, int flags = 0) {
  return device::call<46>(scope, strong, fd, message, flags);
}

// recvmsg(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto recvmsg(Scope scope, Chosen options, int fd, void* message, int flags = 0) {
  return device::call<47>(scope, options, fd, message, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto recvmsg(Scope scope, int fd, void* message, int flags = 0) {
  return device::call<47>(scope, strong, fd, message, flags);
}

// recvmmsg(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto recvmmsg(Scope scope, Chosen options, int fd, void* messages, unsigned count, int flags, void* timeout) {
  return device::call<299>(scope, options, fd, messages, count, flags, timeout);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto recvmmsg(Scope scope, int fd, void* messages, unsigned count, int flags, void* timeout) {
  return device::call<299>(scope, strong, fd, messages, count, flags, timeout);
}

// sendmmsg(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sendmmsg(Scope scope, Chosen options, int fd, void* messages, unsigned count, int flags = 0) {
  return device::call<307>(scope, options, fd, messages, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sendmmsg(Scope scope, int fd, void* messages, unsigned count, int flags = 0) {
  return device::call<307>(scope, strong, fd, messages, count, flags);
}

// mremap(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mremap(Scope scope, Chosen options, void* address, std::size_t length, std::size_t new_length, int flags, void* to = nullptr) {
  return device::call<25>(scope, options, address, length, new_length, flags, to);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mremap(Scope scope, void* address, std::size_t length, std::size_t new_length, int flags, void* to = nullptr) {
  return device::call<25>(scope, strong, address, length, new_length, flags, to);
}

// mlock(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mlock(Scope scope, Chosen options, void* address, std::size_t length) {
  return device::call<149>(scope, options, address, length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mlock(Scope scope, void* address, std::size_t length) {
  return device::call<149>(scope, strong, address, length);
}

// munlock(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto munlock(Scope scope, Chosen options, void* address, std::size_t length) {
  return device::call<150>(scope, options, address, length);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto munlock(Scope scope, void* address, std::size_t length) {
  return device::call<150>(scope, strong, address, length);
}

// mlockall(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mlockall(Scope scope, Chosen options, int flags) {
  return device::call<151>(scope, options, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mlockall(Scope scope, int flags) {
  return device::call<151>(scope, strong, flags);
}

// munlockall(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto munlockall(Scope scope, Chosen options) {
  return device::call<152>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto munlockall(Scope scope) {
  return device::call<152>(scope, strong);
}

// swapon(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto swapon(Scope scope, Chosen options, const char* path, int flags) {
  return device::call<167>(scope, options, path, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto swapon(Scope scope, const char* path, int flags) {
  return device::call<167>(scope, strong, path, flags);
}

// swapoff(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto swapoff(Scope scope, Chosen options, const char* path) {
  return device::call<168>(scope, options, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto swapoff(Scope scope, const char* path) {
  return device::call<168>(scope, strong, path);
}

// remap_file_pages(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto remap_file_pages(Scope scope, Chosen options, void* address, std::size_t length, int protection, std::size_t page, int flags) {
  return device::call<216>(scope, options, address, length, protection, page, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto remap_file_pages(Scope scope, void* address, std::size_t length, int protection, std::size_t page, int flags) {
  return device::call<216>(scope, strong, address, length, protection, page, flags);
}

// memfd_create(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto memfd_create(Scope scope, Chosen options, const char* name, unsigned flags = 0) {
  return device::call<319>(scope, options, name, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto memfd_create(Scope scope, const char* name, unsigned flags = 0) {
  return device::call<319>(scope, strong, name, flags);
}

// mlock2(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mlock2(Scope scope, Chosen options, void* address, std::size_t length, unsigned flags) {
  return device::call<325>(scope, options, address, length, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mlock2(Scope scope, void* address, std::size_t length, unsigned flags) {
  return device::call<325>(scope, strong, address, length, flags);
}

// pkey_mprotect(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pkey_mprotect(Scope scope, Chosen options, void* address, std::size_t length, int protection, int key) {
  return device::call<329>(scope, options, address, length, protection, key);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pkey_mprotect(Scope scope, void* address, std::size_t length, int protection, int key) {
  return device::call<329>(scope, strong, address, length, protection, key);
}

// pkey_free(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pkey_free(Scope scope, Chosen options, int key) {
  return device::call<331>(scope, options, key);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pkey_free(Scope scope, int key) {
  return device::call<331>(scope, strong, key);
}

// memfd_secret(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto memfd_secret(Scope scope, Chosen options, unsigned flags = 0) {
  return device::call<447>(scope, options, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto memfd_secret(Scope scope, unsigned flags = 0) {
  return device::call<447>(scope, strong, flags);
}

// mincore(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mincore(Scope scope, Chosen options, void* address, std::size_t length, void* pages) {
  return device::call<27>(scope, options, address, length, pages);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mincore(Scope scope, void* address, std::size_t length, void* pages) {
  return device::call<27>(scope, strong, address, length, pages);
}

// mbind(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mbind(Scope scope, Chosen options, void* address, std::size_t length, int mode, const void* nodes, unsigned long count, unsigned flags = 0) {
  return device::call<237>(scope, options, address, length, mode, nodes, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mbind(Scope scope, void* address, std::size_t length, int mode, const void* nodes, unsigned long count, unsigned flags = 0) {
  return device::call<237>(scope, strong, address, length, mode, nodes, count, flags);
}

// move_pages(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto move_pages(Scope scope, Chosen options, int process, std::size_t count, const void* pages, const void* nodes, void* status, int flags) {
  return device::call<279>(scope, options, process, count, pages, nodes, status, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto move_pages(Scope scope, int process, std::size_t count, const void* pages, const void* nodes, void* status, int flags) {
  return device::call<279>(scope, strong, process, count, pages, nodes, status, flags);
}

// process_vm_readv(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto process_vm_readv(Scope scope, Chosen options, int process, const void* pieces, std::size_t count, const void* from, std::size_t from_count, unsigned long flags = 0) {
  return device::call<310>(scope, options, process, pieces, count, from, from_count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto process_vm_readv(Scope scope, int process, const void* pieces, std::size_t count, const void* from, std::size_t from_count, unsigned long flags = 0) {
  return device::call<310>(scope, strong, process, pieces, count, from, from_count, flags);
}

// getgroups(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getgroups(Scope scope, Chosen options, int count, void* groups) {
  return device::call<115>(scope, options, count, groups);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getgroups(Scope scope, int count, void* groups) {
  return device::call<115>(scope, strong, count, groups);
}

// waitid(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto waitid(Scope scope, Chosen options, int type, int process, void* info, int how, void* usage = nullptr) {
  return device::call<247>(scope, options, type, process, info, how, usage);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto waitid(Scope scope, int type, int process, void* info, int how, void* usage = nullptr) {
  return device::call<247>(scope, strong, type, process, info, how, usage);
}

// kcmp(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto kcmp(Scope scope, Chosen options, int process, int other_process, int type, unsigned long index, unsigned long other_index) {
  return device::call<312>(scope, options, process, other_process, type, index, other_index);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto kcmp(Scope scope, int process, int other_process, int type, unsigned long index, unsigned long other_index) {
  return device::call<312>(scope, strong, process, other_process, type, index, other_index);
}

// pidfd_open(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pidfd_open(Scope scope, Chosen options, int process, unsigned flags = 0) {
  return device::call<434>(scope, options, process, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pidfd_open(Scope scope, int process, unsigned flags = 0) {
  return device::call<434>(scope, strong, process, flags);
}

// pidfd_getfd(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pidfd_getfd(Scope scope, Chosen options, int fd, int other, unsigned flags = 0) {
  return device::call<438>(scope, options, fd, other, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pidfd_getfd(Scope scope, int fd, int other, unsigned flags = 0) {
  return device::call<438>(scope, strong, fd, other, flags);
}

// landlock_create_ruleset(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto landlock_create_ruleset(Scope scope, Chosen options, const void* attributes, std::size_t count, unsigned flags = 0) {
  return device::call<444>(scope, options, attributes, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto landlock_create_ruleset(Scope scope, const void* attributes, std::size_t count, unsigned flags = 0) {
  return device::call<444>(scope, strong, attributes, count, flags);
}

// landlock_add_rule(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto landlock_add_rule(Scope scope, Chosen options, int fd, int type, device::Argument attributes, unsigned flags = 0) {
  return device::call<445>(scope, options, fd, type, attributes, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto landlock_add_rule(Scope scope, int fd, int type, device::Argument attributes, unsigned flags = 0) {
  return device::call<445>(scope, strong, fd, type, attributes, flags);
}

// lsm_list_modules(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto lsm_list_modules(Scope scope, Chosen options, void* modules, void* count, unsigned flags = 0) {
  return device::call<461>(scope, options, modules, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto lsm_list_modules(Scope scope, void* modules, void* count, unsigned flags = 0) {
  return device::call<461>(scope, strong, modules, count, flags);
}

// listns(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto listns(Scope scope, Chosen options, const void* request, void* spaces, std::size_t count, unsigned flags = 0) {
  return device::call<470>(scope, options, request, spaces, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto listns(Scope scope, const void* request, void* spaces, std::size_t count, unsigned flags = 0) {
  return device::call<470>(scope, strong, request, spaces, count, flags);
}

// shmget(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto shmget(Scope scope, Chosen options, int key, std::size_t length, int flags) {
  return device::call<29>(scope, options, key, length, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto shmget(Scope scope, int key, std::size_t length, int flags) {
  return device::call<29>(scope, strong, key, length, flags);
}

// shmat(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto shmat(Scope scope, Chosen options, int segment, void* address, int flags = 0) {
  return device::call<30>(scope, options, segment, address, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto shmat(Scope scope, int segment, void* address, int flags = 0) {
  return device::call<30>(scope, strong, segment, address, flags);
}

// semget(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto semget(Scope scope, Chosen options, int key, int count, int flags) {
  return device::call<64>(scope, options, key, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto semget(Scope scope, int key, int count, int flags) {
  return device::call<64>(scope, strong, key, count, flags);
}

// semop(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto semop(Scope scope, Chosen options, int set, const void* operations, std::size_t count) {
  return device::call<65>(scope, options, set, operations, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto semop(Scope scope, int set, const void* operations, std::size_t count) {
  return device::call<65>(scope, strong, set, operations, count);
}

// shmdt(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto shmdt(Scope scope, Chosen options, void* address) {
  return device::call<67>(scope, options, address);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto shmdt(Scope scope, void* address) {
  return device::call<67>(scope, strong, address);
}

// msgget(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto msgget(Scope scope, Chosen options, int key, int flags) {
  return device::call<68>(scope, options, key, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto msgget(Scope scope, int key, int flags) {
  return device::call<68>(scope, strong, key, flags);
}

// semtimedop(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto semtimedop(Scope scope, Chosen options, int set, const void* operations, std::size_t count, const void* timeout) {
  return device::call<220>(scope, options, set, operations, count, timeout);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto semtimedop(Scope scope, int set, const void* operations, std::size_t count, const void* timeout) {
  return device::call<220>(scope, strong, set, operations, count, timeout);
}

// mq_open(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mq_open(Scope scope, Chosen options, const char* name, int flags, std::uint32_t mode = 0, const void* attributes = nullptr) {
  return device::call<240>(scope, options, name, flags, mode, attributes);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mq_open(Scope scope, const char* name, int flags, std::uint32_t mode = 0, const void* attributes = nullptr) {
  return device::call<240>(scope, strong, name, flags, mode, attributes);
}

// mq_unlink(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mq_unlink(Scope scope, Chosen options, const char* name) {
  return device::call<241>(scope, options, name);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mq_unlink(Scope scope, const char* name) {
  return device::call<241>(scope, strong, name);
}

// mq_timedsend(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mq_timedsend(Scope scope, Chosen options, int fd, const void* message, std::size_t count, unsigned priority, const void* deadline) {
  return device::call<242>(scope, options, fd, message, count, priority, deadline);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mq_timedsend(Scope scope, int fd, const void* message, std::size_t count, unsigned priority, const void* deadline) {
  return device::call<242>(scope, strong, fd, message, count, priority, deadline);
}

// mq_timedreceive(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mq_timedreceive(Scope scope, Chosen options, int fd, void* message, std::size_t count, void* priority, const void* deadline) {
  return device::call<243>(scope, options, fd, message, count, priority, deadline);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mq_timedreceive(Scope scope, int fd, void* message, std::size_t count, void* priority, const void* deadline) {
  return device::call<243>(scope, strong, fd, message, count, priority, deadline);
}

// mq_notify(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mq_notify(Scope scope, Chosen options, int fd, const void* event) {
  return device::call<244>(scope, options, fd, event);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mq_notify(Scope scope, int fd, const void* event) {
  return device::call<244>(scope, strong, fd, event);
}

// mq_getsetattr(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mq_getsetattr(Scope scope, Chosen options, int fd, const void* attributes, void* before) {
  return device::call<245>(scope, options, fd, attributes, before);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mq_getsetattr(Scope scope, int fd, const void* attributes, void* before) {
  return device::call<245>(scope, strong, fd, attributes, before);
}

// futex_wake(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto futex_wake(Scope scope, Chosen options, void* address, unsigned long mask, int count, unsigned flags) {
  return device::call<454>(scope, options, address, mask, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto futex_wake(Scope scope, void* address, unsigned long mask, int count, unsigned flags) {
  return device::call<454>(scope, strong, address, mask, count, flags);
}

// shmctl(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto shmctl(Scope scope, Chosen options, int segment, int command, device::Argument argument = 0) {
  return device::call<31>(scope, options, segment, command, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto shmctl(Scope scope, int segment, int command, device::Argument argument = 0) {
  return device::call<31>(scope, strong, segment, command, argument);
}

// semctl(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto semctl(Scope scope, Chosen options, int set, int semaphore, int command, device::Argument argument = 0, std::size_t count = 0) {
  return device::call<66>(scope, options, set, semaphore, command, argument, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto semctl(Scope scope, int set, int semaphore, int command, device::Argument argument = 0, std::size_t count = 0) {
  return device::call<66>(scope, strong, set, semaphore, command, argument, count);
}

// msgsnd(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto msgsnd(Scope scope, Chosen options, int queue, const void* message, std::size_t count, int flags = 0) {
  return device::call<69>(scope, options, queue, message, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto msgsnd(Scope scope, int queue, const void* message, std::size_t count, int flags = 0) {
  return device::call<69>(scope, strong, queue, message, count, flags);
}

// msgrcv(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto msgrcv(Scope scope, Chosen options, int queue, void* message, std::size_t count, long type, int flags = 0) {
  return device::call<70>(scope, options, queue, message, count, type, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto msgrcv(Scope scope, int queue, void* message, std::size_t count, long type, int flags = 0) {
  return device::call<70>(scope, strong, queue, message, count, type, flags);
}

// msgctl(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto msgctl(Scope scope, Chosen options, int queue, int command, device::Argument argument = 0) {
  return device::call<71>(scope, options, queue, command, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto msgctl(Scope scope, int queue, int command, device::Argument argument = 0) {
  return device::call<71>(scope, strong, queue, command, argument);
}

// futex(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto futex(Scope scope, Chosen options, void* word, int operation, std::uint32_t value, device::Argument timeout = 0, void* other_word = nullptr, std::uint32_t other_value = 0) {
  return device::call<202>(scope, options, word, operation, value, timeout, other_word, other_value);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto futex(Scope scope, void* word, int operation, std::uint32_t value, device::Argument timeout = 0, void* other_word = nullptr, std::uint32_t other_value = 0) {
  return device::call<202>(scope, strong, word, operation, value, timeout, other_word, other_value);
}

// futex_waitv(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto futex_waitv(Scope scope, Chosen options, const void* waiters, unsigned count, unsigned flags, const void* timeout, int clock) {
  return device::call<449>(scope, options, waiters, count, flags, timeout, clock);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto futex_waitv(Scope scope, const void* waiters, unsigned count, unsigned flags, const void* timeout, int clock) {
  return device::call<449>(scope, strong, waiters, count, flags, timeout, clock);
}

// futex_wait(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto futex_wait(Scope scope, Chosen options, void* word, unsigned long value, unsigned long mask, unsigned flags, const void* timeout, int clock) {
  return device::call<455>(scope, options, word, value, mask, flags, timeout, clock);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto futex_wait(Scope scope, void* word, unsigned long value, unsigned long mask, unsigned flags, const void* timeout, int clock) {
  return device::call<455>(scope, strong, word, value, mask, flags, timeout, clock);
}

// futex_requeue(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto futex_requeue(Scope scope, Chosen options, const void* waiters, unsigned flags, int wake, int requeue) {
  return device::call<456>(scope, options, waiters, flags, wake, requeue);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto futex_requeue(Scope scope, const void* waiters, unsigned flags, int wake, int requeue) {
  return device::call<456>(scope, strong, waiters, flags, wake, requeue);
}

// syslog(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto syslog(Scope scope, Chosen options, int type, void* buffer, int count) {
  return device::call<103>(scope, options, type, buffer, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto syslog(Scope scope, int type, void* buffer, int count) {
  return device::call<103>(scope, strong, type, buffer, count);
}

// add_key(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto add_key(Scope scope, Chosen options, const char* type, const char* description, const void* content, std::size_t count, int ring) {
  return device::call<248>(scope, options, type, description, content, count, ring);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto add_key(Scope scope, const char* type, const char* description, const void* content, std::size_t count, int ring) {
  return device::call<248>(scope, strong, type, description, content, count, ring);
}

// getrandom(2): producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getrandom(Scope scope, Chosen options, void* buffer, std::size_t count, unsigned flags = 0) {
  return device::call<318>(scope, options, buffer, count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getrandom(Scope scope, void* buffer, std::size_t count, unsigned flags = 0) {
  return device::call<318>(scope, strong, buffer, count, flags);
}

// vhangup(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto vhangup(Scope scope, Chosen options) {
  return device::call<153>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto vhangup(Scope scope) {
  return device::call<153>(scope, strong);
}

// acct(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto acct(Scope scope, Chosen options, const char* path) {
  return device::call<163>(scope, options, path);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto acct(Scope scope, const char* path) {
  return device::call<163>(scope, strong, path);
}

// reboot(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto reboot(Scope scope, Chosen options, int magic, int other_magic, unsigned command, device::Argument argument = 0) {
  return device::call<169>(scope, options, magic, other_magic, command, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto reboot(Scope scope, int magic, int other_magic, unsigned command, device::Argument argument = 0) {
  return device::call<169>(scope, strong, magic, other_magic, command, argument);
}

// init_module(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto init_module(Scope scope, Chosen options, const void* image, std::size_t count, const char* parameters) {
  return device::call<175>(scope, options, image, count, parameters);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto init_module(Scope scope, const void* image, std::size_t count, const char* parameters) {
  return device::call<175>(scope, strong, image, count, parameters);
}

// delete_module(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto delete_module(Scope scope, Chosen options, const char* name, unsigned flags) {
  return device::call<176>(scope, options, name, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto delete_module(Scope scope, const char* name, unsigned flags) {
  return device::call<176>(scope, strong, name, flags);
}

// quotactl(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto quotactl(Scope scope, Chosen options, int command, const char* device, int identity, device::Argument argument = 0) {
  return device::call<179>(scope, options, command, device, identity, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto quotactl(Scope scope, int command, const char* device, int identity, device::Argument argument = 0) {
  return device::call<179>(scope, strong, command, device, identity, argument);
}

// kexec_load(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto kexec_load(Scope scope, Chosen options, unsigned long entry, std::size_t count, const void* segments, unsigned long flags) {
  return device::call<246>(scope, options, entry, count, segments, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto kexec_load(Scope scope, unsigned long entry, std::size_t count, const void* segments, unsigned long flags) {
  return device::call<246>(scope, strong, entry, count, segments, flags);
}

// request_key(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto request_key(Scope scope, Chosen options, const char* type, const char* description, const char* information, int ring) {
  return device::call<249>(scope, options, type, description, information, ring);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto request_key(Scope scope, const char* type, const char* description, const char* information, int ring) {
  return device::call<249>(scope, strong, type, description, information, ring);
}

// keyctl(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto keyctl(Scope scope, Chosen options, int operation, device::Argument first = 0, device::Argument second = 0, device::Argument third = 0, device::Argument fourth = 0) {
  return device::call<250>(scope, options, operation, first, second, third, fourth);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto keyctl(Scope scope, int operation, device::Argument first = 0, device::Argument second = 0, device::Argument third = 0, device::Argument fourth = 0) {
  return device::call<250>(scope, strong, operation, first, second, third, fourth);
}

// finit_module(2): consumer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto finit_module(Scope scope, Chosen options, int fd, const char* parameters, int flags) {
  return device::call<313>(scope, options, fd, parameters, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto finit_module(Scope scope, int fd, const char* parameters, int flags) {
  return device::call<313>(scope, strong, fd, parameters, flags);
}

// kexec_file_load(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto kexec_file_load(Scope scope, Chosen options, int fd, int initial, unsigned long count, const void* command_line, unsigned long flags) {
  return device::call<320>(scope, options, fd, initial, count, command_line, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto kexec_file_load(Scope scope, int fd, int initial, unsigned long count, const void* command_line, unsigned long flags) {
  return device::call<320>(scope, strong, fd, initial, count, command_line, flags);
}

// bpf(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto bpf(Scope scope, Chosen options, int command, void* attributes, unsigned count) {
  return device::call<321>(scope, options, command, attributes, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto bpf(Scope scope, int command, void* attributes, unsigned count) {
  return device::call<321>(scope, strong, command, attributes, count);
}

// quotactl_fd(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto quotactl_fd(Scope scope, Chosen options, int fd, unsigned command, int identity, device::Argument argument = 0) {
  return device::call<443>(scope, options, fd, command, identity, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto quotactl_fd(Scope scope, int fd, unsigned command, int identity, device::Argument argument = 0) {
  return device::call<443>(scope, strong, fd, command, identity, argument);
}

// sched_get_priority_max(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sched_get_priority_max(Scope scope, Chosen options, int policy) {
  return device::call<146>(scope, options, policy);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sched_get_priority_max(Scope scope, int policy) {
  return device::call<146>(scope, strong, policy);
}

// sched_get_priority_min(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto sched_get_priority_min(Scope scope, Chosen options, int policy) {
  return device::call<147>(scope, options, policy);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto sched_get_priority_min(Scope scope, int policy) {
  return device::call<147>(scope, strong, policy);
}

// membarrier(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto membarrier(Scope scope, Chosen options, int command, unsigned flags = 0, int processor = 0) {
  return device::call<324>(scope, options, command, flags, processor);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto membarrier(Scope scope, int command, unsigned flags = 0, int processor = 0) {
  return device::call<324>(scope, strong, command, flags, processor);
}

// io_setup(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_setup(Scope scope, Chosen options, unsigned count, void* context) {
  return device::call<206>(scope, options, count, context);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_setup(Scope scope, unsigned count, void* context) {
  return device::call<206>(scope, strong, count, context);
}

// io_submit(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_submit(Scope scope, Chosen options, std::uint64_t context, long count, const void* requests) {
  return device::call<209>(scope, options, context, count, requests);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_submit(Scope scope, std::uint64_t context, long count, const void* requests) {
  return device::call<209>(scope, strong, context, count, requests);
}

// io_uring_setup(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_uring_setup(Scope scope, Chosen options, unsigned entries, void* parameters) {
  return device::call<425>(scope, options, entries, parameters);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_uring_setup(Scope scope, unsigned entries, void* parameters) {
  return device::call<425>(scope, strong, entries, parameters);
}

// io_uring_enter(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_uring_enter(Scope scope, Chosen options, int fd, unsigned submit, unsigned least, unsigned flags, void* argument = nullptr, std::size_t count = 0) {
  return device::call<426>(scope, options, fd, submit, least, flags, argument, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_uring_enter(Scope scope, int fd, unsigned submit, unsigned least, unsigned flags, void* argument = nullptr, std::size_t count = 0) {
  return device::call<426>(scope, strong, fd, submit, least, flags, argument, count);
}

// io_uring_register(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto io_uring_register(Scope scope, Chosen options, int fd, unsigned operation, void* argument, unsigned count) {
  return device::call<427>(scope, options, fd, operation, argument, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto io_uring_register(Scope scope, int fd, unsigned operation, void* argument, unsigned count) {
  return device::call<427>(scope, strong, fd, operation, argument, count);
}

// process_vm_writev(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto process_vm_writev(Scope scope, Chosen options, int process, const void* pieces, std::size_t count, const void* to, std::size_t to_count, unsigned long flags = 0) {
  return device::call<311>(scope, options, process, pieces, count, to, to_count, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto process_vm_writev(Scope scope, int process, const void* pieces, std::size_t count, const void* to, std::size_t to_count, unsigned long flags = 0) {
  return device::call<311>(scope, strong, process, pieces, count, to, to_count, flags);
}

// process_madvise(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto process_madvise(Scope scope, Chosen options, int fd, const void* ranges, std::size_t count, int advice, unsigned flags = 0) {
  return device::call<440>(scope, options, fd, ranges, count, advice, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto process_madvise(Scope scope, int fd, const void* ranges, std::size_t count, int advice, unsigned flags = 0) {
  return device::call<440>(scope, strong, fd, ranges, count, advice, flags);
}

// process_mrelease(2): consumer and producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto process_mrelease(Scope scope, Chosen options, int fd, unsigned flags = 0) {
  return device::call<448>(scope, options, fd, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto process_mrelease(Scope scope, int fd, unsigned flags = 0) {
  return device::call<448>(scope, strong, fd, flags);
}

// set_mempolicy_home_node(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto set_mempolicy_home_node(Scope scope, Chosen options, void* address, std::size_t length, unsigned long node, unsigned long flags = 0) {
  return device::call<450>(scope, options, address, length, node, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto set_mempolicy_home_node(Scope scope, void* address, std::size_t length, unsigned long node, unsigned long flags = 0) {
  return device::call<450>(scope, strong, address, length, node, flags);
}

// mseal(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mseal(Scope scope, Chosen options, void* address, std::size_t length, unsigned long flags = 0) {
  return device::call<462>(scope, options, address, length, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mseal(Scope scope, void* address, std::size_t length, unsigned long flags = 0) {
  return device::call<462>(scope, strong, address, length, flags);
}

// wait4(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto wait4(Scope scope, Chosen options, int process, void* status, int how, void* usage = nullptr) {
  return device::call<61>(scope, options, process, status, how, usage);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto wait4(Scope scope, int process, void* status, int how, void* usage = nullptr) {
  return device::call<61>(scope, strong, process, status, how, usage);
}

// kill(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto kill(Scope scope, Chosen options, int process, int signal) {
  return device::call<62>(scope, options, process, signal);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto kill(Scope scope, int process, int signal) {
  return device::call<62>(scope, strong, process, signal);
}

// setrlimit(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto setrlimit(Scope scope, Chosen options, int resource, const void* limit) {
  return device::call<160>(scope, options, resource, limit);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto setrlimit(Scope scope, int resource, const void* limit) {
  return device::call<160>(scope, strong, resource, limit);
}

// prlimit64(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto prlimit64(Scope scope, Chosen options, int process, int resource, const void* limit, void* before = nullptr) {
  return device::call<302>(scope, options, process, resource, limit, before);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto prlimit64(Scope scope, int process, int resource, const void* limit, void* before = nullptr) {
  return device::call<302>(scope, strong, process, resource, limit, before);
}

// pidfd_send_signal(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto pidfd_send_signal(Scope scope, Chosen options, int fd, int signal, const void* info, unsigned flags = 0) {
  return device::call<424>(scope, options, fd, signal, info, flags);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto pidfd_send_signal(Scope scope, int fd, int signal, const void* info, unsigned flags = 0) {
  return device::call<424>(scope, strong, fd, signal, info, flags);
}

// alarm(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto alarm(Scope scope, Chosen options, unsigned seconds) {
  return device::call<37>(scope, options, seconds);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto alarm(Scope scope, unsigned seconds) {
  return device::call<37>(scope, strong, seconds);
}

// setitimer(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto setitimer(Scope scope, Chosen options, int which, const void* wanted, void* before = nullptr) {
  return device::call<38>(scope, options, which, wanted, before);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto setitimer(Scope scope, int which, const void* wanted, void* before = nullptr) {
  return device::call<38>(scope, strong, which, wanted, before);
}

// timer_create(2): consumer and producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto timer_create(Scope scope, Chosen options, int clock, const void* event, void* timer) {
  return device::call<222>(scope, options, clock, event, timer);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto timer_create(Scope scope, int clock, const void* event, void* timer) {
  return device::call<222>(scope, strong, clock, event, timer);
}

}  // namespace k2k
