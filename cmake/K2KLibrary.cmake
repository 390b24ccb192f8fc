# The modules put together: k2k_all for programs of this tree (static), k2k for all other programs
# (libk2k.so, only functions marked K2K_API are visible).

get_property(modules GLOBAL PROPERTY K2K_MODULES)
get_property(libs GLOBAL PROPERTY K2K_LIBS)
list(REMOVE_DUPLICATES libs)

add_library(k2k_all INTERFACE)
set(objects "")
foreach(module IN LISTS modules)
  target_link_libraries(k2k_all INTERFACE k2k_${module})
  get_target_property(type k2k_${module} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:k2k_${module}>)
  endif()
endforeach()

if(objects)
  add_library(k2k SHARED ${objects})
  add_library(k2k::k2k ALIAS k2k)
  set_target_properties(k2k PROPERTIES
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
  )
  # BUILD_INTERFACE: the libraries are already inside libk2k.so or named by it, no user needs to
  # find them.
  target_link_libraries(k2k PRIVATE $<BUILD_INTERFACE:${libs}>)
  target_compile_features(k2k INTERFACE cxx_std_20)
  target_include_directories(k2k INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include;${PROJECT_SOURCE_DIR}/src>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  )
  if(K2K_RELATIVE_RELOCATIONS)
    target_link_options(k2k PRIVATE "LINKER:-z,pack-relative-relocs")
  endif()
  if(NOT K2K_SANITIZE)
    set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
    target_link_options(k2k PRIVATE -Wl,--gc-sections -Wl,--no-undefined "-Wl,--version-script=${exports}")
    set_property(TARGET k2k APPEND PROPERTY LINK_DEPENDS "${exports}")
  endif()
endif()
