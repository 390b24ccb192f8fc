#pragma once
// Waiting for descriptors, and notification. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

// The reason of calls that change the mask of their thread while they wait.
inline constexpr const char* mask_reason =
    "looks at its mask and leaves signals to the threads of the host";

inline constexpr Entry event_entries[] = {
    {7, "poll", Family::event, Class::ready, Blocking::waits, Changes::call},
    {23, "select", Family::event, Class::ready, Blocking::waits, Changes::call},
    {213, "epoll_create", Family::event, Class::ready, Blocking::never, Changes::process},
    {214, "epoll_ctl_old", Family::event, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "never implemented on x86-64"},
    {215, "epoll_wait_old", Family::event, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "never implemented on x86-64"},
    {232, "epoll_wait", Family::event, Class::ready, Blocking::waits, Changes::call},
    {233, "epoll_ctl", Family::event, Class::ready, Blocking::never, Changes::call},
    {253, "inotify_init", Family::event, Class::ready, Blocking::never, Changes::process},
    {254, "inotify_add_watch", Family::event, Class::ready, Blocking::rarely, Changes::call},
    {255, "inotify_rm_watch", Family::event, Class::ready, Blocking::never, Changes::call},
    {270, "pselect6", Family::event, Class::ready, Blocking::waits, Changes::call, Access::open,
     mask_reason},
    {271, "ppoll", Family::event, Class::ready, Blocking::waits, Changes::call, Access::open,
     mask_reason},
    {281, "epoll_pwait", Family::event, Class::ready, Blocking::waits, Changes::call, Access::open,
     mask_reason},
    {284, "eventfd", Family::event, Class::ready, Blocking::never, Changes::process},
    {290, "eventfd2", Family::event, Class::ready, Blocking::never, Changes::process},
    {291, "epoll_create1", Family::event, Class::ready, Blocking::never, Changes::process},
    {294, "inotify_init1", Family::event, Class::ready, Blocking::never, Changes::process},
    {300, "fanotify_init", Family::event, Class::ready, Blocking::never, Changes::process,
     Access::privileged},
    {301, "fanotify_mark", Family::event, Class::ready, Blocking::rarely, Changes::call,
     Access::privileged},
    {441, "epoll_pwait2", Family::event, Class::ready, Blocking::waits, Changes::call, Access::open,
     mask_reason},
};

}  // namespace k2k::calls
