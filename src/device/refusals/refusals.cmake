# cmake -DCOMPILER=<c++> -DSOURCE=<refusals.cpp> -DINCLUDE=<folders> [-DSTANDARD=20] -P refusals.cmake
# Compiles every case of refusals.cpp: 0 must compile, each other one must fail with its words.
# Device code is C++17, and so are the cases unless STANDARD names another.

if(NOT STANDARD)
  set(STANDARD 17)
endif()
list(TRANSFORM INCLUDE PREPEND "-I")

file(READ "${SOURCE}" text)
string(REGEX MATCHALL "// expect: [^\n]*" expectations "${text}")
list(LENGTH expectations count)
set(failed 0)
foreach(case RANGE 0 ${count})
  execute_process(
    COMMAND "${COMPILER}" -std=c++${STANDARD} -fsyntax-only -Wall -Wextra "-DREFUSED=${case}"
      ${INCLUDE}
      "${SOURCE}"
    ERROR_VARIABLE error RESULT_VARIABLE status)
  if(case EQUAL 0)
    if(NOT status EQUAL 0)
      message(SEND_ERROR "what is allowed does not compile:\n${error}")
      set(failed 1)
    endif()
    continue()
  endif()
  math(EXPR index "${case} - 1")
  list(GET expectations ${index} expected)
  string(REPLACE "// expect: " "" expected "${expected}")
  string(FIND "${error}" "${expected}" place)
  if(status EQUAL 0)
    message(SEND_ERROR "case ${case} compiles; expected: ${expected}")
    set(failed 1)
  elseif(place EQUAL -1)
    message(SEND_ERROR "case ${case} fails without saying: ${expected}\n${error}")
    set(failed 1)
  endif()
endforeach()
if(NOT failed)
  message(STATUS "${count} refusals, each with its words")
endif()
