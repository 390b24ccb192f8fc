#pragma once
// Runtimes whose device serves kernels that another library launches (backend/foreign_kernels.hpp),
// for the C ABI. C++ programs launch by Runtime::launch().
//
// Threading: any thread.

#include <cstdint>
#include <k2k/runtime.hpp>

#include "base/result.hpp"

namespace k2k::backend {
class ForeignKernels;  // backend/foreign_kernels.hpp
}

namespace k2k {

// Errors: as backend::ForeignKernels; ENOTSUP (no other library can launch on this device); EDEADLK
// (in a host function of the runtime); EPERM (after fork).
struct Serving {
  static Status begin(Runtime& runtime);
  static Result<std::uint64_t> context(Runtime& runtime);
  static Status end(Runtime& runtime);

 private:
  static Result<backend::ForeignKernels*> kernels_of(Runtime& runtime, const char* member);
};

}  // namespace k2k
