#pragma once
// The io_uring operation that does the work of a call, if there is one: a fact about Linux for
// readers of the table. Kernels have no rings (calls/families), and the server's ring only reads.
//
// Numbers beyond those of Linux 6.1 (from 49 on) are of newer kernels; a test compares the others
// with the installed header.
//
// C++17, freestanding, constant.

#include <cstdint>

namespace k2k::calls {

struct RingOperation {
  std::uint16_t number;  // Of the call.
  std::uint8_t code;     // IORING_OP_...
  const char* name;      // Likewise, without the prefix.
};

inline constexpr RingOperation ring_operations[] = {
    {0, 22, "READ"},          // read
    {1, 23, "WRITE"},         // write
    {2, 18, "OPENAT"},        // open
    {3, 19, "CLOSE"},         // close
    {17, 22, "READ"},         // pread64
    {18, 23, "WRITE"},        // pwrite64
    {19, 1, "READV"},         // readv
    {20, 2, "WRITEV"},        // writev
    {22, 62, "PIPE"},         // pipe
    {28, 25, "MADVISE"},      // madvise
    {35, 11, "TIMEOUT"},      // nanosleep
    {41, 45, "SOCKET"},       // socket
    {42, 16, "CONNECT"},      // connect
    {43, 13, "ACCEPT"},       // accept
    {44, 26, "SEND"},         // sendto
    {45, 27, "RECV"},         // recvfrom
    {46, 9, "SENDMSG"},       // sendmsg
    {47, 10, "RECVMSG"},      // recvmsg
    {48, 34, "SHUTDOWN"},     // shutdown
    {49, 56, "BIND"},         // bind
    {50, 57, "LISTEN"},       // listen
    {74, 3, "FSYNC"},         // fsync
    {75, 3, "FSYNC"},         // fdatasync
    {77, 55, "FTRUNCATE"},    // ftruncate
    {82, 35, "RENAMEAT"},     // rename
    {83, 37, "MKDIRAT"},      // mkdir
    {84, 36, "UNLINKAT"},     // rmdir
    {85, 18, "OPENAT"},       // creat
    {86, 39, "LINKAT"},       // link
    {87, 36, "UNLINKAT"},     // unlink
    {88, 38, "SYMLINKAT"},    // symlink
    {188, 42, "SETXATTR"},    // setxattr
    {190, 41, "FSETXATTR"},   // fsetxattr
    {191, 44, "GETXATTR"},    // getxattr
    {193, 43, "FGETXATTR"},   // fgetxattr
    {221, 24, "FADVISE"},     // fadvise64
    {230, 11, "TIMEOUT"},     // clock_nanosleep
    {232, 59, "EPOLL_WAIT"},  // epoll_wait
    {233, 29, "EPOLL_CTL"},   // epoll_ctl
    {247, 50, "WAITID"},      // waitid
    {257, 18, "OPENAT"},      // openat
    {258, 37, "MKDIRAT"},     // mkdirat
    {263, 36, "UNLINKAT"},    // unlinkat
    {264, 35, "RENAMEAT"},    // renameat
    {265, 39, "LINKAT"},      // linkat
    {266, 38, "SYMLINKAT"},   // symlinkat
    {275, 30, "SPLICE"},      // splice
    {276, 33, "TEE"},         // tee
    {277, 8, "SYNC_FILE_RANGE"},
    {285, 17, "FALLOCATE"},    // fallocate
    {288, 13, "ACCEPT"},       // accept4
    {293, 62, "PIPE"},         // pipe2
    {295, 1, "READV"},         // preadv
    {296, 2, "WRITEV"},        // pwritev
    {316, 35, "RENAMEAT"},     // renameat2
    {327, 1, "READV"},         // preadv2
    {328, 2, "WRITEV"},        // pwritev2
    {332, 21, "STATX"},        // statx
    {437, 28, "OPENAT2"},      // openat2
    {449, 53, "FUTEX_WAITV"},  // futex_waitv
    {454, 52, "FUTEX_WAKE"},   // futex_wake
    {455, 51, "FUTEX_WAIT"},   // futex_wait
};

// Returns nullptr for a call without one.
constexpr const RingOperation* ring_operation_of(std::uint16_t number) {
  for (const RingOperation& operation : ring_operations) {
    if (operation.number == number) return &operation;
  }
  return nullptr;
}

}  // namespace k2k::calls
