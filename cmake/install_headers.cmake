# Runs in `cmake --install`: the doors, and the headers of src/ that they include, directly or by others. Found
# then and not when configuring, for an include may come or go with any header. "base/api.hpp" is
# installed as <k2k/modules/base/api.hpp>: the include path that finds <k2k/runtime.hpp> finds all.
# Given: K2K_SOURCE, K2K_HEADERS_TO (relative to the prefix, or absolute), K2K_HEADERS_MADE, a folder
# for what is installed.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

# Installs a header as <folder>/<its name> below k2k/. A header that is unchanged keeps its time.
function(k2k_install_header header folder)
  cmake_path(GET header FILENAME name)
  set(made "${K2K_HEADERS_MADE}/${folder}/${name}")
  file(READ "${header}" text)
  string(REGEX REPLACE "(#[ \t]*include[ \t]+)\"([^\"\n]+)\"" "\\1<k2k/modules/\\2>" text "${text}")
  set(before "")
  if(EXISTS "${made}")
    file(READ "${made}" before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE "${made}" "${text}")
  endif()
  file(INSTALL "${made}" DESTINATION "${K2K_HEADERS_TO}/k2k/${folder}")
  set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()

cmake_path(ABSOLUTE_PATH K2K_HEADERS_TO BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
file(GLOB doors "${K2K_SOURCE}/include/k2k/*.h" "${K2K_SOURCE}/include/k2k/*.hpp")
foreach(door IN LISTS doors)
  k2k_install_header("${door}" ".")
endforeach()

set(unread ${doors})
set(reached "")
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS "${header}" lines REGEX "^[ \t]*#[ \t]*include[ \t]+\"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" path "${line}")
    if(path IN_LIST reached)
      continue()
    endif()
    if(NOT EXISTS "${K2K_SOURCE}/src/${path}")
      message(FATAL_ERROR "${header} includes \"${path}\", which is not in src/")
    endif()
    cmake_path(GET path PARENT_PATH folder)
    k2k_install_header("${K2K_SOURCE}/src/${path}" "modules/${folder}")
    list(APPEND reached "${path}")
    list(APPEND unread "${K2K_SOURCE}/src/${path}")
  endforeach()
endwhile()
cmake_policy(POP)
