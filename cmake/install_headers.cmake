# Runs in `cmake --install`: the doors, and of src/ what they include, directly or by others. Found
# then and not when configuring, for an include may come or go with any header.
# Given: K2K_SOURCE, K2K_HEADERS_TO (relative to the prefix, or absolute).

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

cmake_path(ABSOLUTE_PATH K2K_HEADERS_TO BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
file(GLOB doors "${K2K_SOURCE}/include/k2k/*.h" "${K2K_SOURCE}/include/k2k/*.hpp")
file(INSTALL ${doors} DESTINATION "${K2K_HEADERS_TO}/k2k")

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
    file(INSTALL "${K2K_SOURCE}/src/${path}" DESTINATION "${K2K_HEADERS_TO}/k2k/modules/${folder}")
    list(APPEND reached "${path}")
    list(APPEND unread "${K2K_SOURCE}/src/${path}")
  endforeach()
endwhile()
cmake_policy(POP)
