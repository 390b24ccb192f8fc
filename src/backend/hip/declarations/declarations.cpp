// Compares library.hpp with HIP's header. Compiled only by `./dev check --only hip`, which brings
// the header; no program contains it.

#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include "backend/hip/library.hpp"

namespace k2k::backend::hip {

// HIP's function takes what our declaration of it passes: each parameter by its size, and pointers
// as pointers. C++ has some functions also as templates: of those the first `by` takes the plain
// one, whose types are ours.
template <class>
struct Passed;
template <class... Parameters>
struct Passed<Code (*)(Parameters...)> {
  static constexpr bool by(hipError_t (*)(Parameters...)) { return true; }
  template <class... Theirs>
  static constexpr bool by(hipError_t (*)(Theirs...)) {
    if constexpr (sizeof...(Parameters) != sizeof...(Theirs)) {
      return false;
    } else {
      return ((sizeof(Parameters) == sizeof(Theirs) &&
               std::is_pointer_v<Parameters> == std::is_pointer_v<Theirs>) &&
              ...);
    }
  }
};

#define K2K_HIP_SAME(member, name, parameters)                        \
  static_assert(Passed<decltype(Library::member)>::by(&::name), #name \
                " differs from HIP's "                                \
                "header");
K2K_HIP_ENTRIES(K2K_HIP_SAME)

static_assert(sizeof(Code) == sizeof(hipError_t));
static_assert(std::is_same_v<decltype(&hipGetErrorName), const char* (*)(hipError_t)>);
static_assert(std::is_same_v<decltype(&hipGetErrorString), const char* (*)(hipError_t)>);

#define K2K_HIP_NUMBER(ours, theirs)                                  \
  static_assert(static_cast<long>(ours) == static_cast<long>(theirs), \
                #theirs " has another number");
K2K_HIP_NUMBER(gpu::success, hipSuccess)
K2K_HIP_NUMBER(gpu::out_of_memory, hipErrorOutOfMemory)
K2K_HIP_NUMBER(gpu::not_ready, hipErrorNotReady)
K2K_HIP_NUMBER(stream_non_blocking, hipStreamNonBlocking)
K2K_HIP_NUMBER(host_portable, hipHostMallocPortable)
K2K_HIP_NUMBER(host_mapped, hipHostMallocMapped)
K2K_HIP_NUMBER(host_coherent, hipHostMallocCoherent)
K2K_HIP_NUMBER(memcpy_default, hipMemcpyDefault)
K2K_HIP_NUMBER(Attribute::clock_rate, hipDeviceAttributeClockRate)
K2K_HIP_NUMBER(Attribute::concurrent_managed_access, hipDeviceAttributeConcurrentManagedAccess)
K2K_HIP_NUMBER(Attribute::cooperative_launch, hipDeviceAttributeCooperativeLaunch)
K2K_HIP_NUMBER(Attribute::host_native_atomics, hipDeviceAttributeHostNativeAtomicSupported)
K2K_HIP_NUMBER(Attribute::integrated, hipDeviceAttributeIntegrated)
K2K_HIP_NUMBER(Attribute::capability_major, hipDeviceAttributeComputeCapabilityMajor)
K2K_HIP_NUMBER(Attribute::items_per_unit, hipDeviceAttributeMaxThreadsPerMultiProcessor)
K2K_HIP_NUMBER(Attribute::capability_minor, hipDeviceAttributeComputeCapabilityMinor)
K2K_HIP_NUMBER(Attribute::compute_units, hipDeviceAttributeMultiprocessorCount)
K2K_HIP_NUMBER(Attribute::pageable_access, hipDeviceAttributePageableMemoryAccess)
K2K_HIP_NUMBER(Attribute::pageable_access_by_host_tables,
               hipDeviceAttributePageableMemoryAccessUsesHostPageTables)
K2K_HIP_NUMBER(Attribute::local_bytes, hipDeviceAttributeMaxSharedMemoryPerBlock)
K2K_HIP_NUMBER(Attribute::wave_lanes, hipDeviceAttributeWarpSize)
K2K_HIP_NUMBER(Attribute::large_bar, hipDeviceAttributeIsLargeBar)

}  // namespace k2k::backend::hip
