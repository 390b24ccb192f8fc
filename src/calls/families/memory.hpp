#pragma once
// The address space. The rows of this family, by number.

#include "calls/entry.hpp"

namespace k2k::calls {

inline constexpr Entry memory_entries[] = {
    {9, "mmap", Family::memory, Class::ready, Blocking::rarely, Changes::process, Access::open,
     "refused where the device cannot follow the address"},
    {10, "mprotect", Family::memory, Class::ready, Blocking::never, Changes::process},
    {11, "munmap", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {12, "brk", Family::memory, Class::extensive_change, Blocking::never, Changes::process,
     Access::refused, "moves the heap of the host program"},
    {25, "mremap", Family::memory, Class::ready, Blocking::rarely, Changes::process, Access::open,
     "refused where the device cannot follow the address"},
    {26, "msync", Family::memory, Class::ready, Blocking::rarely, Changes::call},
    {27, "mincore", Family::memory, Class::ready, Blocking::rarely, Changes::call},
    {28, "madvise", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {149, "mlock", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {150, "munlock", Family::memory, Class::ready, Blocking::never, Changes::process},
    {151, "mlockall", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {152, "munlockall", Family::memory, Class::ready, Blocking::never, Changes::process},
    {167, "swapon", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {168, "swapoff", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {216, "remap_file_pages", Family::memory, Class::ready, Blocking::never, Changes::process},
    {237, "mbind", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {238, "set_mempolicy", Family::memory, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "acts on the service thread"},
    {239, "get_mempolicy", Family::memory, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::open, "without an address, answers for the service thread"},
    {256, "migrate_pages", Family::memory, Class::extensive_change, Blocking::rarely,
     Changes::process, Access::refused, "moves the host process' memory"},
    {279, "move_pages", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {310, "process_vm_readv", Family::memory, Class::ready, Blocking::rarely, Changes::call},
    {311, "process_vm_writev", Family::memory, Class::ready, Blocking::rarely, Changes::process,
     Access::refused, "writes the host process' memory"},
    {319, "memfd_create", Family::memory, Class::ready, Blocking::never, Changes::process},
    {323, "userfaultfd", Family::memory, Class::extensive_change, Blocking::never, Changes::process,
     Access::refused, "takes the host process' page faults"},
    {325, "mlock2", Family::memory, Class::ready, Blocking::rarely, Changes::process},
    {329, "pkey_mprotect", Family::memory, Class::ready, Blocking::never, Changes::process},
    {330, "pkey_alloc", Family::memory, Class::needs_device_hardware, Blocking::never,
     Changes::thread, Access::refused, "sets the rights of the service thread alone"},
    {331, "pkey_free", Family::memory, Class::ready, Blocking::never, Changes::process},
    {440, "process_madvise", Family::memory, Class::ready, Blocking::rarely, Changes::process,
     Access::refused, "takes memory of the host process"},
    {447, "memfd_secret", Family::memory, Class::ready, Blocking::never, Changes::process},
    {448, "process_mrelease", Family::memory, Class::ready, Blocking::rarely, Changes::process,
     Access::refused, "takes memory of the host process"},
    {450, "set_mempolicy_home_node", Family::memory, Class::ready, Blocking::never,
     Changes::process, Access::refused, "acts on the host process"},
    {453, "map_shadow_stack", Family::memory, Class::needs_device_hardware, Blocking::never,
     Changes::process, Access::open, "the answer is a stack for a thread of the CPU"},
    {462, "mseal", Family::memory, Class::ready, Blocking::never, Changes::process, Access::refused,
     "seals the host process' memory"},
};

}  // namespace k2k::calls
