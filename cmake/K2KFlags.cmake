# How first-party code is compiled: the interface target k2k_flags, linked privately by everything in
# the tree and never exported.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
  endif()
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(K2K_CCACHE ccache)
    mark_as_advanced(K2K_CCACHE)
    if(K2K_CCACHE)
      # Paths below the repository are taken relative to it, so that another clone finds the objects of this
      # clone. Dependencies are the compiler's own list: ccache preprocesses nothing by itself.
      # Without the sloppiness it declines every source with a precompiled header.
      set(launcher "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
        CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        "${K2K_CCACHE}")
      # And the debug information must not name the clone that compiled it.
      add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fdebug-prefix-map=${PROJECT_SOURCE_DIR}=.>")
      set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
      set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
    endif()
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

# Instrumentation must reach every object and every link, so these are not in k2k_flags.
if(K2K_SANITIZE)
  add_compile_options(-fsanitize=${K2K_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${K2K_SANITIZE})
  if(K2K_SANITIZE MATCHES "address")
    # AddressSanitizer reports a use of null or of a freed object by itself. These checks of
    # UndefinedBehaviorSanitizer took 5 to 13 % of the time of compilation.
    add_compile_options(-fno-sanitize=null,object-size,vptr)
    # At fixed addresses the start of a program relocates nothing: 20 MB of the sanitizers' tables hold addresses,
    # and most tests are short.
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
endif()

# Relative relocations take 8 bytes for up to 63 addresses, not 24 each: 60 KiB less of libk2k.so, and fewer
# pages to write at its start. The C library needs to be glibc 2.36 (Debian 12) or newer.
include(CheckLinkerFlag)
check_linker_flag(CXX "LINKER:-z,pack-relative-relocs" K2K_RELATIVE_RELOCATIONS)

add_library(k2k_flags INTERFACE)
if(K2K_RELATIVE_RELOCATIONS)
  target_link_options(k2k_flags INTERFACE "LINKER:-z,pack-relative-relocs")
endif()
target_compile_features(k2k_flags INTERFACE cxx_std_20)
set(for_cxx "$<COMPILE_LANGUAGE:C,CXX>")  # nvcc knows other options.
target_compile_options(k2k_flags INTERFACE "$<${for_cxx}:-Wall;-Wextra>")
if(NOT K2K_UNITY STREQUAL "target")  # There it would see names of other folders.
  target_compile_options(k2k_flags INTERFACE $<${for_cxx}:-Wshadow>)
endif()
if(NOT K2K_SANITIZE)
  # Instrumentation confuses this analysis: it would fail the build on correct code.
  target_compile_options(k2k_flags INTERFACE $<${for_cxx}:-Wconversion>)
endif()
if(K2K_WERROR)
  target_compile_options(k2k_flags INTERFACE $<${for_cxx}:-Werror>)
endif()
if(K2K_CUDA)
  # nvcc writes the code for the host: its conversions and shadows are not looked at.
  target_compile_options(k2k_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers;-Wno-deprecated-gpu-targets>")
  if(K2K_WERROR)
    target_compile_options(k2k_flags INTERFACE
      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
  endif()
endif()
target_compile_definitions(k2k_flags INTERFACE K2K_VERSION="${PROJECT_VERSION}")
# Also for files that are themselves compiled without instrumentation, where the compiler's own
# __SANITIZE_THREAD__ is missing.
if(K2K_SANITIZE MATCHES "thread")
  target_compile_definitions(k2k_flags INTERFACE K2K_TSAN=1)
elseif(K2K_SANITIZE MATCHES "address")
  target_compile_definitions(k2k_flags INTERFACE K2K_ASAN=1)
endif()

# g++ 12 takes "literal" + std::string for overlapping memory (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(k2k_flags INTERFACE $<${for_cxx}:-Wno-restrict>)
endif()

# g++ 12 reports false -Wmaybe-uninitialized and friends once sanitizers rewrite the code.
if(K2K_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(k2k_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow
    -Wno-array-bounds)
  if(K2K_SANITIZE STREQUAL "thread")
    target_compile_options(k2k_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
