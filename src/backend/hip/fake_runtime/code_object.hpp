#pragma once
// Reads code objects as HIP's runtime does: the bundle, the ELF file of the device's architecture,
// the kernel's descriptor and the metadata of its arguments. Sources: LLVM's "User Guide for AMDGPU
// Backend" and ClangOffloadBundler.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace k2k::backend::hip::fake {

struct Argument {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct CodeKernel {
  std::string name;
  std::vector<Argument> arguments;   // Those that a launch passes.
  std::uint32_t argument_bytes = 0;  // All, with those that the compiler adds.
};

// The ELF file in a bundle, or the image itself if it is one. Empty: none for that architecture.
std::span<const std::byte> file_for(const void* image, std::string_view architecture);
// All kernels of a file that have a descriptor. Empty: the file cannot be read.
std::vector<CodeKernel> kernels_of(std::span<const std::byte> file);

}  // namespace k2k::backend::hip::fake
