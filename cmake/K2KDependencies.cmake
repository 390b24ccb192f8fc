# The dependencies of the build. Package names are Debian 12's: `./dev build` installs what is missing.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)

# The archive where there is one: a preloaded libk2k.so then asks nothing more of a program's folders.
find_path(K2K_URING_INCLUDE liburing.h REQUIRED)
find_library(K2K_URING_LIBRARY NAMES liburing.a uring REQUIRED)
add_library(k2k_uring INTERFACE)
target_include_directories(k2k_uring SYSTEM INTERFACE "${K2K_URING_INCLUDE}")
target_link_libraries(k2k_uring INTERFACE "${K2K_URING_LIBRARY}")
target_link_options(k2k_uring INTERFACE -Wl,--exclude-libs,liburing.a)  # Its names are not ours.

if(K2K_PROGRAMS)
  find_package(CLI11 REQUIRED)
endif()
if(K2K_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # Of the tests' own file system, alone.
  find_path(K2K_FUSE_INCLUDE fuse.h PATH_SUFFIXES fuse3 REQUIRED)
  find_library(K2K_FUSE_LIBRARY fuse3 REQUIRED)
  add_library(k2k_fuse INTERFACE)
  target_include_directories(k2k_fuse SYSTEM INTERFACE "${K2K_FUSE_INCLUDE}")
  target_compile_definitions(k2k_fuse INTERFACE _FILE_OFFSET_BITS=64)
  target_link_libraries(k2k_fuse INTERFACE "${K2K_FUSE_LIBRARY}")
endif()
if(K2K_BENCH)
  find_package(benchmark REQUIRED)
endif()
