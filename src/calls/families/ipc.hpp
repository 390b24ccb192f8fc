#pragma once
// System V objects, message queues and futexes. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry ipc_entries[] = {
    {29, "shmget", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {30, "shmat", Family::ipc, Class::ready, Blocking::never, Changes::process, Access::open,
     "refused where the device cannot follow the address"},
    {31, "shmctl", Family::ipc, Class::ready, Blocking::rarely, Changes::call},
    {64, "semget", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {65, "semop", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {66, "semctl", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {67, "shmdt", Family::ipc, Class::ready, Blocking::never, Changes::process},
    {68, "msgget", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {69, "msgsnd", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {70, "msgrcv", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {71, "msgctl", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {202, "futex", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {220, "semtimedop", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {240, "mq_open", Family::ipc, Class::ready, Blocking::rarely, Changes::process},
    {241, "mq_unlink", Family::ipc, Class::ready, Blocking::rarely, Changes::call},
    {242, "mq_timedsend", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {243, "mq_timedreceive", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {244, "mq_notify", Family::ipc, Class::ready, Blocking::never, Changes::process},
    {245, "mq_getsetattr", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {273, "set_robust_list", Family::ipc, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {274, "get_robust_list", Family::ipc, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "with 0, answers for the service thread"},
    {449, "futex_waitv", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {454, "futex_wake", Family::ipc, Class::ready, Blocking::never, Changes::call},
    {455, "futex_wait", Family::ipc, Class::ready, Blocking::waits, Changes::call},
    {456, "futex_requeue", Family::ipc, Class::ready, Blocking::never, Changes::call},
};

}  // namespace k2k::calls
