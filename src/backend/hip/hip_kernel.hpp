#pragma once
// A kernel that a compiler for HIP put into this program: the answer of DeviceKernel::load() for
// AMD GPUs. The backend loads it by hipModuleLoadData() and hipModuleGetFunction().
//
// Threading: values.

namespace k2k::backend::hip {

struct HipKernel {
  // Code objects of one source, one for each architecture, as clang bundles them. Lives as long as
  // the program.
  const void* image = nullptr;
  const char* name = nullptr;  // Of the kernel, as the code object names it.
};

}  // namespace k2k::backend::hip

// The kernel of a stub, which is the host's address of a kernel, or nullptr. Of the library that a
// program with kernels for HIP links (registration/registration.cpp).
extern "C" const k2k::backend::hip::HipKernel* k2k_hip_kernel(const void* stub);
