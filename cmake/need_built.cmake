# Runs before anything is installed: a tree of which only a part was built (as by ./dev demo)
# installs nothing, and names the command that builds the rest.
#
# K2K_BUILT: the files that a whole build has made. K2K_BUILD: the command that makes them.

foreach(file IN LISTS K2K_BUILT)
  if(NOT EXISTS "${file}")
    cmake_path(GET file FILENAME name)
    message(FATAL_ERROR "${name} is not built yet; run `${K2K_BUILD}` first, then install.")
  endif()
endforeach()
