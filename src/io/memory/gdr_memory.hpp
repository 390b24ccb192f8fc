#pragma once
// A range of a CUDA device's memory that the CPU can store to, mapped by NVIDIA's GDRCopy: its
// library libgdrapi and its kernel module gdrdrv. For the engine `bar`.
//
//   gdr_pin_buffer   whole pages of the GPU around the range, reachable by the bus
//   gdr_map          those pages in this process, write-combined
//
// The range is unmapped with the object, which must end before the memory is freed.
//
// UNVERIFIED ON HARDWARE: tested against a library of the tests' own; the declarations are those of
// GDRCopy 2.5's public header (gdrapi.h).
//
// Threading: as device_memory.hpp. A child of fork() must not touch it.

#include <cstddef>
#include <memory>
#include <string>

#include "io/memory/device_memory.hpp"

namespace k2k::io {

// [device, device + bytes) lies in one allocation of cudaMalloc() or cuMemAlloc(). map() answers
// EFAULT for other addresses, make_queue() EOPNOTSUPP. Errors: ENOENT, the library is not there;
// ENOSYS, it lacks a function; ENODEV, its module is not loaded; ENOMEM, the GPU's BAR has no room;
// EINVAL and others, as the module answers.
Result<std::unique_ptr<DeviceMemory>> make_gdr_memory(
    std::byte* device, std::size_t bytes, const std::string& library = "libgdrapi.so.2");

}  // namespace k2k::io
