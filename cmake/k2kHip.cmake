# Kernels for AMD GPUs, for programs with k2k::k2k; find_package(k2k) includes it, and so does K2K's
# own build. No part of ROCm is needed: neither its headers (device/hip_language/), nor its device
# library, nor libamdhip64, which the backend loads when a program runs. clang and lld of one version.
#
# k2k_add_hip_kernels(<target> [EXACT] <source>...)
#   Compiles C++ sources with kernels (Runtime::launch()) by clang for HIP into <target>, for the host
#   and for each of K2K_HIP_ARCHITECTURES, and links k2k::hip_registration, by which libk2k finds the
#   kernels. It replaces a part of HIP's run-time library: the target must not link libamdhip64.
#   EXACT: a product is rounded before its sum, as on x86-64, so that results have the CPU's bits.
#
# Variables: K2K_HIP_ARCHITECTURES, K2K_HIP_COMPILER, K2K_HIP_LINKER. Of the including file:
# K2K_HIP_LANGUAGE, the header of the language; K2K_HIP_OPTIONS, more options of the compiler.

set(K2K_HIP_ARCHITECTURES "gfx90a;gfx942" CACHE STRING "Architectures that programs have code for")

# clang calls "lld", without a version: a folder with links, first in its PATH.
function(k2k_find_hip_tools)
  find_program(K2K_HIP_COMPILER clang++-19 DOC "clang for HIP")
  find_program(K2K_HIP_LINKER ld.lld-19 DOC "lld, of the same version")
  if(NOT K2K_HIP_COMPILER OR NOT K2K_HIP_LINKER)
    message(FATAL_ERROR
      "Kernels for AMD GPUs need clang++-19 and ld.lld-19, and one of them is missing: install clang "
      "19 and lld 19 (Debian: apt install clang-19 lld-19), or set K2K_HIP_COMPILER and "
      "K2K_HIP_LINKER to another version of both.")
  endif()
  set(tools "${CMAKE_BINARY_DIR}/hip_tools")
  file(MAKE_DIRECTORY "${tools}")
  file(CREATE_LINK "${K2K_HIP_LINKER}" "${tools}/ld.lld" SYMBOLIC)
  file(CREATE_LINK "${K2K_HIP_LINKER}" "${tools}/lld" SYMBOLIC)
  set(K2K_HIP_TOOLS "${tools}" PARENT_SCOPE)
endfunction()

function(k2k_add_hip_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXACT" "" "")
  if(NOT TARGET k2k::hip_registration)
    message(FATAL_ERROR
      "This K2K was built without HIP, so it has no k2k::hip_registration: build and install it with "
      "K2K_HIP=ON (./dev build --preset hip).")
  endif()
  k2k_find_hip_tools()
  set(exact)
  if(arg_EXACT)
    set(exact -ffp-contract=off)
  endif()
  list(TRANSFORM K2K_HIP_ARCHITECTURES PREPEND "--offload-arch=" OUTPUT_VARIABLE architectures)
  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE path)
    string(REPLACE "/" "_" name "${path}")
    set(object "${CMAKE_CURRENT_BINARY_DIR}/hip/${target}/${name}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/hip/${target}"
      COMMAND "${CMAKE_COMMAND}" -E env "PATH=${K2K_HIP_TOOLS}:$ENV{PATH}"
        "${K2K_HIP_COMPILER}" -x hip ${architectures} -nogpuinc -nogpulib -std=c++20 -O2 -fPIC
        -fvisibility=hidden ${exact} ${K2K_HIP_OPTIONS} -include "${K2K_HIP_LANGUAGE}"
        "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
        "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
        -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
      DEPENDS "${source}" "${K2K_HIP_LANGUAGE}" DEPFILE "${object}.d"
      COMMENT "Compiling ${path} for HIP" COMMAND_EXPAND_LISTS VERBATIM)
    target_sources(${target} PRIVATE "${object}")
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE k2k::hip_registration)
endfunction()
