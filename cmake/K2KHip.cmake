# HIP: sources of this tree that clang compiles for AMD GPUs and for the host, as programs outside of it do
# (k2kHip.cmake). `./dev build --preset hip` installs clang and lld.

set(K2K_HIP_LANGUAGE "${PROJECT_SOURCE_DIR}/src/device/hip_language/hip_language.hpp")
set(K2K_HIP_OPTIONS -Wall -Wextra -Wno-pass-failed)
if(K2K_WERROR)
  list(APPEND K2K_HIP_OPTIONS -Werror)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/k2kHip.cmake")
k2k_find_hip_tools()

add_custom_target(hip_programs)  # Collects the targets with device code.

# k2k_add_hip_sources(<target> [EXACT] <source>...)
#   Compiles sources (relative to the calling folder) by clang for HIP into <target>. The same source
#   may be part of the same program as C++, too.
function(k2k_add_hip_sources target)
  k2k_add_hip_kernels(${target} ${ARGN})
  target_include_directories(${target} PRIVATE "${k2k_SOURCE_DIR}")
  add_dependencies(hip_programs ${target})
endfunction()
