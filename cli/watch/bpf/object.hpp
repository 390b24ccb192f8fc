#pragma once
// The compiled programs of watch.bpf.c, as bytes of an ELF file.
//
// Threading: constant.

#include <span>

namespace k2k::watch {

// Empty where the build had no clang or no headers of libbpf.
std::span<const unsigned char> bpf_object_bytes();

}  // namespace k2k::watch
