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

// fstat(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fstat(Scope scope, Chosen options, int fd, void* status) {
  return device::call<5>(scope, options, fd, status);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fstat(Scope scope, int fd, void* status) {
  return device::call<5>(scope, strong, fd, status);
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

// mmap(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto mmap(Scope scope, Chosen options, void* address, std::size_t length, int protection, int flags, int fd, std::int64_t offset) {
  return device::call<9>(scope, options, address, length, protection, flags, fd, offset);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto mmap(Scope scope, void* address, std::size_t length, int protection, int flags, int fd, std::int64_t offset) {
  return device::call<9>(scope, strong, address, length, protection, flags, fd, offset);
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

// ioctl(2): consumer and producer, may wait for a peer.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto ioctl(Scope scope, Chosen options, int fd, unsigned long request, void* argument) {
  return device::call<16>(scope, options, fd, request, argument);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto ioctl(Scope scope, int fd, unsigned long request, void* argument) {
  return device::call<16>(scope, strong, fd, request, argument);
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

// madvise(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto madvise(Scope scope, Chosen options, void* address, std::size_t length, int advice) {
  return device::call<28>(scope, options, address, length, advice);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto madvise(Scope scope, void* address, std::size_t length, int advice) {
  return device::call<28>(scope, strong, address, length, advice);
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

// getpid(2): producer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getpid(Scope scope, Chosen options) {
  return device::call<39>(scope, options);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getpid(Scope scope) {
  return device::call<39>(scope, strong);
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

// fsync(2): consumer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto fsync(Scope scope, Chosen options, int fd) {
  return device::call<74>(scope, options, fd);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto fsync(Scope scope, int fd) {
  return device::call<74>(scope, strong, fd);
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

// rt_sigqueueinfo(2): consumer, never blocks.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto rt_sigqueueinfo(Scope scope, Chosen options, int process, int signal, const void* info) {
  return device::call<129>(scope, options, process, signal, info);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto rt_sigqueueinfo(Scope scope, int process, int signal, const void* info) {
  return device::call<129>(scope, strong, process, signal, info);
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

// getdents64(2): producer, may wait for a disk.
template <class Scope, class Chosen, class = device::IfCall<Scope, Chosen>>
K2K_DEVICE inline auto getdents64(Scope scope, Chosen options, int fd, void* entries, std::size_t count) {
  return device::call<217>(scope, options, fd, entries, count);
}
template <class Scope, class = device::IfScope<Scope>>
K2K_DEVICE inline auto getdents64(Scope scope, int fd, void* entries, std::size_t count) {
  return device::call<217>(scope, strong, fd, entries, count);
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

}  // namespace k2k
