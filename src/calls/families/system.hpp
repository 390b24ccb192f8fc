#pragma once
// The machine: Linux itself, keys, modules and quotas. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry system_entries[] = {
    {63, "uname", Family::system, Class::ready, Blocking::never, Changes::call},
    {99, "sysinfo", Family::system, Class::ready, Blocking::never, Changes::call},
    {103, "syslog", Family::system, Class::ready, Blocking::waits, Changes::call},
    {134, "uselib", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "of the a.out format; Linux refuses it"},
    {136, "ustat", Family::system, Class::obsolete, Blocking::rarely, Changes::call, Access::open,
     "replaced by statfs"},
    {139, "sysfs", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "replaced by /proc/filesystems"},
    {153, "vhangup", Family::system, Class::ready, Blocking::never, Changes::process},
    {156, "_sysctl", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "Linux 5.5 removed it; /proc/sys replaces it"},
    {163, "acct", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {169, "reboot", Family::system, Class::ready, Blocking::waits, Changes::process},
    {174, "create_module", Family::system, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "Linux 2.6 removed it"},
    {175, "init_module", Family::system, Class::ready, Blocking::waits, Changes::process},
    {176, "delete_module", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {177, "get_kernel_syms", Family::system, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "Linux 2.6 removed it"},
    {178, "query_module", Family::system, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "Linux 2.6 removed it"},
    {179, "quotactl", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {180, "nfsservctl", Family::system, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "Linux 3.1 removed it"},
    {181, "getpmsg", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "never implemented"},
    {182, "putpmsg", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "never implemented"},
    {183, "afs_syscall", Family::system, Class::obsolete, Blocking::never, Changes::call,
     Access::open, "never implemented"},
    {184, "tuxcall", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "never implemented"},
    {185, "security", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "never implemented"},
    {236, "vserver", Family::system, Class::obsolete, Blocking::never, Changes::call, Access::open,
     "never implemented"},
    {246, "kexec_load", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {248, "add_key", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {249, "request_key", Family::system, Class::ready, Blocking::waits, Changes::process},
    {250, "keyctl", Family::system, Class::ready, Blocking::waits, Changes::process},
    {298, "perf_event_open", Family::system, Class::needs_device_hardware, Blocking::never,
     Changes::process, Access::open, "with 0, measures the service thread"},
    {313, "finit_module", Family::system, Class::ready, Blocking::waits, Changes::process},
    {318, "getrandom", Family::system, Class::ready, Blocking::waits, Changes::call},
    {320, "kexec_file_load", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {321, "bpf", Family::system, Class::ready, Blocking::rarely, Changes::process},
    {443, "quotactl_fd", Family::system, Class::ready, Blocking::rarely, Changes::process},
};

}  // namespace k2k::calls
