# cmake -DGENERATOR=<k2k_generate_wrappers> -DHEADER=<wrappers.hpp> -P compare.cmake
# Fails if the header is not what the generator prints.

execute_process(COMMAND "${GENERATOR}" OUTPUT_VARIABLE printed RESULT_VARIABLE status)
file(READ "${HEADER}" stored)
if(NOT status EQUAL 0 OR NOT printed STREQUAL stored)
  message(FATAL_ERROR "${HEADER} is not what calls/rows.hpp generates: run ./dev format")
endif()
