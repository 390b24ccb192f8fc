# Runs last in `cmake --install`: writes <prefix>/share/k2k/manifest.txt, one `file PATH` or
# `folder PATH` a line, relative to the prefix, folders after their files. manifest_begin.cmake.in
# is the other half.

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

foreach(file IN LISTS CMAKE_INSTALL_MANIFEST_FILES)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE path)
  list(APPEND K2K_INSTALLED "${path}")
  # Below a folder that we made, every folder is ours.
  cmake_path(GET path PARENT_PATH folder)
  set(between "")
  while(folder)
    list(APPEND between "${folder}")
    if(folder IN_LIST K2K_MADE)
      list(APPEND K2K_MADE ${between})
      break()
    endif()
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()
cmake_path(RELATIVE_PATH K2K_MANIFEST BASE_DIRECTORY "${K2K_ROOT}" OUTPUT_VARIABLE manifest)
list(APPEND K2K_INSTALLED "${manifest}")

list(REMOVE_DUPLICATES K2K_INSTALLED)
list(SORT K2K_INSTALLED)
list(REMOVE_DUPLICATES K2K_MADE)
list(SORT K2K_MADE ORDER DESCENDING)  # "." sorts before letters, so the prefix comes last.

set(text "")
foreach(path IN LISTS K2K_INSTALLED)
  string(APPEND text "file ${path}\n")
endforeach()
foreach(path IN LISTS K2K_MADE)
  string(APPEND text "folder ${path}\n")
endforeach()
file(WRITE "${K2K_MANIFEST}" "${text}")
cmake_policy(POP)
