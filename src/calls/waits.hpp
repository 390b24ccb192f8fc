#pragma once
// How a wait of a call ends before the call does, when its launch or the runtime ends: one Wait for
// each call whose row says that it waits and that some policy permits. The services decide by it
// which calls are tried without a thread (services/sleep.cpp).
//
// C++17, freestanding, constant.

#include <cstdint>

#include "calls/table.hpp"

namespace k2k::calls {

// What the server waits for in place of the call, and so how it ends the wait. Calls that cannot be
// tried without waiting, or only in some forms, sleep on a service thread in their other forms.
enum class WaitEnd : std::uint8_t {
  none,        // It does not wait for a peer or a clock; nothing has to end it.
  descriptor,  // Descriptors that its arguments name: the server stops watching them.
  moment,      // A moment: the server forgets it.
  word,        // A word of memory: the server wakes its own waiter.
  signal,      // Nothing else: a service thread sleeps in the call until a signal of K2K's own.
};

struct Wait {
  std::uint16_t number;
  WaitEnd end;
};

inline constexpr Wait waits[] = {
    {0, WaitEnd::descriptor},    // read
    {1, WaitEnd::descriptor},    // write
    {7, WaitEnd::descriptor},    // poll
    {16, WaitEnd::signal},       // ioctl
    {19, WaitEnd::descriptor},   // readv
    {20, WaitEnd::descriptor},   // writev
    {23, WaitEnd::descriptor},   // select
    {35, WaitEnd::moment},       // nanosleep
    {40, WaitEnd::signal},       // sendfile
    {42, WaitEnd::descriptor},   // connect
    {43, WaitEnd::descriptor},   // accept
    {44, WaitEnd::descriptor},   // sendto
    {45, WaitEnd::descriptor},   // recvfrom
    {46, WaitEnd::descriptor},   // sendmsg
    {47, WaitEnd::descriptor},   // recvmsg
    {65, WaitEnd::signal},       // semop
    {69, WaitEnd::signal},       // msgsnd
    {70, WaitEnd::signal},       // msgrcv
    {72, WaitEnd::signal},       // fcntl: F_SETLKW
    {73, WaitEnd::signal},       // flock
    {103, WaitEnd::signal},      // syslog
    {165, WaitEnd::signal},      // mount
    {169, WaitEnd::signal},      // reboot
    {175, WaitEnd::signal},      // init_module
    {202, WaitEnd::word},        // futex
    {207, WaitEnd::signal},      // io_destroy
    {208, WaitEnd::signal},      // io_getevents
    {220, WaitEnd::signal},      // semtimedop
    {230, WaitEnd::moment},      // clock_nanosleep
    {232, WaitEnd::descriptor},  // epoll_wait
    {242, WaitEnd::descriptor},  // mq_timedsend, without a deadline
    {243, WaitEnd::descriptor},  // mq_timedreceive, likewise
    {247, WaitEnd::descriptor},  // waitid, for the end of a process that a descriptor names
    {249, WaitEnd::signal},      // request_key
    {250, WaitEnd::signal},      // keyctl
    {270, WaitEnd::descriptor},  // pselect6
    {271, WaitEnd::descriptor},  // ppoll
    {275, WaitEnd::signal},      // splice
    {276, WaitEnd::signal},      // tee
    {278, WaitEnd::signal},      // vmsplice
    {281, WaitEnd::descriptor},  // epoll_pwait
    {288, WaitEnd::descriptor},  // accept4
    {299, WaitEnd::signal},      // recvmmsg
    {304, WaitEnd::signal},      // open_by_handle_at
    {307, WaitEnd::signal},      // sendmmsg
    {313, WaitEnd::signal},      // finit_module
    {318, WaitEnd::signal},      // getrandom
    {327, WaitEnd::descriptor},  // preadv2
    {328, WaitEnd::descriptor},  // pwritev2
    {333, WaitEnd::signal},      // io_pgetevents
    {431, WaitEnd::signal},      // fsconfig
    {441, WaitEnd::descriptor},  // epoll_pwait2
    {449, WaitEnd::signal},      // futex_waitv
    {455, WaitEnd::signal},      // futex_wait
};

namespace detail {

struct WaitEnds {
  WaitEnd of_number[entry_numbers_end] = {};
};
constexpr WaitEnds ends_of_waits() {
  WaitEnds ends;
  for (const Wait& wait : waits) ends.of_number[wait.number] = wait.end;
  return ends;
}
inline constexpr WaitEnds wait_ends = ends_of_waits();

}  // namespace detail

constexpr WaitEnd wait_end_of(std::uint16_t number) {
  return number < entry_numbers_end ? detail::wait_ends.of_number[number] : WaitEnd::none;
}

}  // namespace k2k::calls
