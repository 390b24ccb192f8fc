# cmake -DK2K=<the program> -DPAGES=<folder> -P write_pages.cmake
# Writes man/<page>.1 for each page of `k2k man --list`, completion.{bash,zsh,fish}, and `written`.

function(print out)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env K2K_CONFIG= "${K2K}" ${ARGN}
    OUTPUT_VARIABLE text ERROR_VARIABLE error RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR text STREQUAL "")
    list(JOIN ARGN " " arguments)
    message(FATAL_ERROR "`${K2K} ${arguments}` ended with ${status} and no text: ${error}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${PAGES}")
print(listing man --list)
string(REGEX MATCHALL "[^\n]+" listing "${listing}")
foreach(page IN LISTS listing)
  print(text man "${page}")
  file(WRITE "${PAGES}/man/${page}" "${text}")
endforeach()
foreach(shell IN ITEMS bash zsh fish)
  print(text completion ${shell})
  file(WRITE "${PAGES}/completion.${shell}" "${text}")
endforeach()
file(TOUCH "${PAGES}/manual-pages")
