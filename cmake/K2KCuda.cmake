# CUDA: the compiler, and sources that are compiled by it.
#
# The toolkit is the one of `./dev build --preset cuda` (wheels in .venv-cuda, see
# tools/devtool/cuda_toolkit.py) unless CMAKE_CUDA_COMPILER or CUDACXX names another. The run-time
# library is linked statically, the driver is loaded when it is needed: nothing of CUDA is needed to
# start the programs that are built here.

if(NOT EXISTS "${CMAKE_CUDA_COMPILER}" AND NOT DEFINED ENV{CUDACXX})
  message(FATAL_ERROR
    "K2K_CUDA=ON, but there is no CUDA compiler (CMAKE_CUDA_COMPILER=${CMAKE_CUDA_COMPILER}). "
    "`./dev build --preset cuda` installs one (105 MB).")
endif()

if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)  # Machine code for 9.0, and PTX for later GPUs.
endif()
set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
enable_language(CUDA)
# CMake 3.25 does not know that nvcc speaks C++20. Host code is C++20; device headers stay C++17
# (`./dev check --only cuda` compiles them so).
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
string(APPEND CMAKE_CUDA_FLAGS " --extended-lambda")

get_filename_component(K2K_CUDA_ROOT "${CMAKE_CUDA_COMPILER}" DIRECTORY)
get_filename_component(K2K_CUDA_ROOT "${K2K_CUDA_ROOT}" DIRECTORY)

add_custom_target(gpu_programs)  # Collects the targets with device code.

# k2k_add_cuda_sources(<target> [EXACT] <source>... [OPTIONS <option>...])
#   EXACT: a product is rounded before its sum, as on x86-64, so that results have the CPU's bits.
#   OPTIONS: further options of nvcc for these sources.
#   Compiles sources (relative to the calling folder) by nvcc into <target>, each through a file of
#   its own that includes it: the same source may be part of the same program as C++, too.
function(k2k_add_cuda_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXACT" "" "OPTIONS")
  if(arg_EXACT)
    list(APPEND arg_OPTIONS -fmad=false)
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${k2k_SOURCE_DIR}" OUTPUT_VARIABLE path)
    string(REPLACE "/" "_" name "${path}")
    set(unit "${CMAKE_CURRENT_BINARY_DIR}/cuda/${target}/${name}.cu")
    file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${path}\"\n" @ONLY)
    target_sources(${target} PRIVATE "${unit}")
    if(arg_OPTIONS)
      set_source_files_properties("${unit}" PROPERTIES COMPILE_OPTIONS "${arg_OPTIONS}")
    endif()
  endforeach()
  target_include_directories(${target} PRIVATE "${k2k_SOURCE_DIR}")
  add_dependencies(gpu_programs ${target})
  if(K2K_CUDA_EMULATED)
    # Of the run-time library, ours (emulator/cuda): NVIDIA's takes no driver but NVIDIA's.
    target_link_libraries(${target} PRIVATE emulator_cudart)
  endif()
endfunction()
