# Three functions build the whole tree; each takes the sources of the folder it is called from.
#
#   k2k_module(<name> [ONE_THREAD] [OPTIMISED_TESTS] [BY_FOLDER] USES <module>... [LIBS <library>...] [TEST_LIBS <library>...]
#              [TIMED <filter>...] [EXCLUDE <path>...])
#       src/<name>/. Builds k2k_<name> from *.cpp (static, or interface when there is none),
#       <name>_test from *_test.cpp (label unit), <name>_bench from *_bench.cpp (K2K_BENCH).
#       USES must repeat floors.toml: tools/check_floors.py compares them. ONE_THREAD: nothing in
#       it is shared between threads, so its tests are left out where races are looked for.
#       OPTIMISED_TESTS: the tests compile the tested code: headers with device code or a protocol.
#       BY_FOLDER: see k2k_unite.
#
#   k2k_program(<target> [BY_FOLDER] [OUTPUT <file name>] [LIBS <library>...] [EXCLUDE <path>...])
#       A program on the runtime, from *.cpp; *_test.cpp beside it become <target>_test. A test links
#       neither main.cpp nor a file named in MAIN: keep code that is worth testing in the other files.
#
#   k2k_suite(<target> [OPTIMISED_TESTS] LABEL <label> [LIBS <library>...] [TIMED <filter>...] [EXCLUDE <path>...])
#       Tests that span modules, from every *.cpp.
#
# LIBS are libraries from outside. TIMED names the tests whose result depends on how fast they run, by
# GoogleTest's filters: their label is timing, and nothing else runs beside them. EXCLUDE names files or folders, relative to the calling folder.
# A folder without sources is skipped. x_fixture.hpp is for tests and benchmarks: never installed.

set(K2K_TEST_TIMEOUT_S 300)

# Sorts the sources of the calling folder into <out>_cpp, _hpp, _test and _bench.
function(k2k_collect_sources out exclude)
  file(GLOB_RECURSE cpp CONFIGURE_DEPENDS *.cpp)
  file(GLOB_RECURSE hpp CONFIGURE_DEPENDS *.hpp *.h *.cuh *.inl)
  foreach(path IN LISTS exclude)
    set(excluded "${CMAKE_CURRENT_SOURCE_DIR}/${path}")
    foreach(list IN ITEMS cpp hpp)
      if(IS_DIRECTORY "${excluded}")
        list(FILTER ${list} EXCLUDE REGEX "^${excluded}/")
      else()
        list(REMOVE_ITEM ${list} "${excluded}")
      endif()
    endforeach()
  endforeach()
  set(test "${cpp}")
  set(bench "${cpp}")
  list(FILTER test INCLUDE REGEX "_test\\.cpp$")
  list(FILTER bench INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER cpp EXCLUDE REGEX "_(test|bench)\\.cpp$")
  list(FILTER hpp EXCLUDE REGEX "_fixture\\.hpp$")
  foreach(list IN ITEMS cpp hpp test bench)
    set(${out}_${list} "${${list}}" PARENT_SCOPE)
  endforeach()
endfunction()

function(k2k_refuse_unparsed function unparsed)
  if(unparsed)
    message(FATAL_ERROR "${function}: unknown arguments: ${unparsed}")
  endif()
endfunction()

# Registers the tests of `target` that `filter` lets through, with further properties.
function(k2k_discover_tests target filter)
  # The end of the build is no place to run programs: tests are discovered when they are run.
  gtest_discover_tests(${target}
    TEST_PREFIX "${target}/"
    TEST_FILTER "${filter}"
    DISCOVERY_MODE PRE_TEST
    PROPERTIES ${ARGN} TIMEOUT ${K2K_TEST_TIMEOUT_S} SKIP_RETURN_CODE 77
      # One element each: the lists of these properties do not survive gtest_discover_tests.
      ENVIRONMENT "K2K_CLI=${PROJECT_BINARY_DIR}/cli/k2k"
      ENVIRONMENT_MODIFICATION "K2K_SOURCE_DIR=set:${PROJECT_SOURCE_DIR}"
  )
endfunction()

# The standard headers that most files include: they take 0.4 to 1 s of each file, so they are compiled
# once. The step tidy lets g++ read each source alone, without precompiled headers: it finds a missing
# include (tools/devtool/tidy.py).
set(K2K_STANDARD_HEADERS algorithm array atomic chrono condition_variable cstdint functional memory mutex
  optional span string thread utility vector)
list(TRANSFORM K2K_STANDARD_HEADERS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")

# Precompiles the headers for `target`. One compilation serves all targets of one `property`, which therefore have
# the same compile options: the first target's.
function(k2k_share_headers target property)
  get_property(header_of GLOBAL PROPERTY ${property})
  if(header_of)
    target_precompile_headers(${target} REUSE_FROM ${header_of})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY ${property} ${target})
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # For ccache.
endfunction()

# For libraries. Programs and tests have others: they are compiled with -fPIE.
function(k2k_precompile_standard target)
  k2k_share_headers(${target} K2K_STANDARD_HEADER_OF ${K2K_STANDARD_HEADERS})
endfunction()

# For the files of a program's commands: half of them print JSON, and its header takes as long to compile as
# the rest of such a file. OWN_HEADER: for a program with compile options of its own.
function(k2k_precompile_command target)
  set(property K2K_COMMAND_HEADER_OF)
  if("OWN_HEADER" IN_LIST ARGN)
    string(APPEND property "_${target}")
  endif()
  k2k_share_headers(${target} ${property} <fmt/format.h> <nlohmann/json.hpp>)
endfunction()

# With K2K_UNITY the compiler takes several sources at once, so that it compiles their headers and templates once:
# "folder" up to eight of one folder, for builds that are changed and built again; "target" up to 32 of the target.
# A name in an anonymous namespace is therefore unique in its target, or, with BY_FOLDER, in its folder; files of
# suites, which define the same few names for their kernels, each have a namespace of their own.
function(k2k_unite target)
  if(K2K_UNITY)
    # At the end of the folder, where all options of the sources are known.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL k2k_unite_now [[${target}]] [[${ARGN}]])")
  endif()
endfunction()

# CMake's own UNITY_BUILD includes the sources by absolute paths, so ccache would find no united object of another
# clone. Here they are relative to the repository.
function(k2k_unite_now target arguments)
  set(sources ${arguments})
  list(REMOVE_ITEM sources BY_FOLDER)
  k2k_keep_unitable(sources)
  set(files_max 8)
  set(whole OFF)
  if(K2K_UNITY STREQUAL "target" AND NOT "BY_FOLDER" IN_LIST arguments)
    set(whole ON)
    # All parts of a target are of one size: the last one is no longer than the others.
    list(LENGTH sources files)
    math(EXPR parts "(${files} + 31) / 32")
    if(parts GREATER 0)
      math(EXPR files_max "(${files} + ${parts} - 1) / ${parts}")
    endif()
  endif()
  set(place "${CMAKE_CURRENT_BINARY_DIR}/united/${target}")
  set(united "")
  foreach(source IN LISTS sources)
    set(room all)
    if(NOT whole)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE room)
      string(MAKE_C_IDENTIFIER "${room}" room)
      string(REGEX REPLACE "^_$" "here" room "${room}")
    endif()
    if(NOT DEFINED files_${room})
      set(files_${room} 0)
    endif()
    math(EXPR part "${files_${room}} / ${files_max}")
    math(EXPR files_${room} "${files_${room}} + 1")
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE include)
    list(APPEND united ${room}_${part})
    string(APPEND text_of_${room}_${part} "#include \"${include}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES united)
  get_target_property(rest ${target} SOURCES)
  list(TRANSFORM rest REPLACE "^([^/$].*)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  list(REMOVE_ITEM rest ${sources})
  foreach(name IN LISTS united)
    file(GENERATE OUTPUT "${place}/${name}.cpp" CONTENT "${text_of_${name}}")
    list(APPEND rest "${place}/${name}.cpp")
  endforeach()
  set_property(TARGET ${target} PROPERTY SOURCES ${rest})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-iquote${PROJECT_SOURCE_DIR}>")
endfunction()

# Leaves the sources in `list`, as absolute paths, that have no compile options of their own.
function(k2k_keep_unitable list)
  set(kept "")
  foreach(source IN LISTS ${list})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    set(alone OFF)
    foreach(property IN ITEMS SKIP_UNITY_BUILD_INCLUSION COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FLAGS
        INCLUDE_DIRECTORIES)
      get_source_file_property(value "${source}" ${property})
      if(value)
        set(alone ON)
      endif()
    endforeach()
    if(NOT alone)
      list(APPEND kept "${source}")
    endif()
  endforeach()
  set(${list} "${kept}" PARENT_SCOPE)
endfunction()

# Builds `target` from its sources as a GoogleTest program and registers its tests under `label`.
function(k2k_add_tests target label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "OWN_HEADER;OPTIMISED" "" "SOURCES;LIBS;TIMED")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBS} GTest::gtest_main k2k_flags)
  # Assertions, most of a test, take a fifth less time to compile so. Tests that compile the tested
  # code, device code above all, are OPTIMISED as everything else.
  set(optimised OFF)
  if(arg_OPTIMISED OR K2K_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    set(optimised ON)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
  # One header for all of that optimisation. OWN_HEADER: for one with compile options of its own, at whose
  # header of another optimisation g++ 12 crashes.
  set(property K2K_TEST_HEADER_OF_${optimised})
  if(arg_OWN_HEADER)
    string(APPEND property "_${target}")
  endif()
  k2k_share_headers(${target} ${property} <gtest/gtest.h> ${K2K_STANDARD_HEADERS})
  if(arg_TIMED)
    list(JOIN arg_TIMED ":" timed)
    k2k_discover_tests(${target} "-${timed}" LABELS ${label})
    k2k_discover_tests(${target} "${timed}" LABELS timing RUN_SERIAL ON)
  else()
    k2k_discover_tests(${target} "*" LABELS ${label})
  endif()
endfunction()

function(k2k_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_THREAD;OPTIMISED_TESTS;BY_FOLDER" "" "USES;LIBS;TEST_LIBS;TIMED;EXCLUDE")
  k2k_refuse_unparsed("k2k_module(${name})" "${arg_UNPARSED_ARGUMENTS}")
  k2k_collect_sources(sources "${arg_EXCLUDE}")
  if(NOT sources_cpp AND NOT sources_hpp)
    message(STATUS "src/${name}: no sources yet, skipped")
    return()
  endif()

  set(target k2k_${name})
  set(by_folder "")
  if(arg_BY_FOLDER)
    set(by_folder BY_FOLDER)
  endif()
  if(sources_cpp)
    add_library(${target} STATIC ${sources_cpp} ${sources_hpp})
    target_link_libraries(${target} PRIVATE k2k_flags)
    # For --gc-sections: a united source holds functions that not every program uses.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-ffunction-sections;-fdata-sections>)
    k2k_precompile_standard(${target})
    k2k_unite(${target} ${by_folder} ${sources_cpp})
    set(reach PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_sources(${target} INTERFACE ${sources_hpp})
    set(reach INTERFACE)
  endif()
  target_include_directories(${target} ${reach}
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} ${reach} ${arg_LIBS})
  foreach(used IN LISTS arg_USES)
    if(TARGET k2k_${used})
      target_link_libraries(${target} ${reach} k2k_${used})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY K2K_MODULES ${name})
  set_property(GLOBAL APPEND PROPERTY K2K_LIBS ${arg_LIBS})

  if(arg_ONE_THREAD AND K2K_SANITIZE STREQUAL "thread")
    set(sources_test "")
  endif()
  set(optimised "")
  if(arg_OPTIMISED_TESTS)
    set(optimised OPTIMISED)
  endif()
  if(K2K_TESTS AND sources_test)
    k2k_add_tests(${name}_test unit ${optimised} SOURCES ${sources_test} LIBS ${target} ${arg_TEST_LIBS}
      TIMED ${arg_TIMED})
    k2k_unite(${name}_test ${by_folder} ${sources_test})
  endif()
  if(K2K_BENCH AND sources_bench)
    add_executable(${name}_bench ${sources_bench})
    target_link_libraries(${name}_bench PRIVATE ${target} benchmark::benchmark_main k2k_flags)
  endif()
endfunction()

function(k2k_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BY_FOLDER" "OUTPUT;MAIN" "LIBS;EXCLUDE")
  k2k_refuse_unparsed("k2k_program(${target})" "${arg_UNPARSED_ARGUMENTS}")
  k2k_collect_sources(sources "${arg_EXCLUDE}")
  if(NOT sources_cpp)
    message(STATUS "${target}: no sources yet, skipped")
    return()
  endif()
  add_executable(${target} ${sources_cpp} ${sources_hpp})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE k2k_all ${arg_LIBS} k2k_flags)
  target_link_options(${target} PRIVATE -Wl,--gc-sections)
  set(by_folder "")
  if(arg_BY_FOLDER)
    set(by_folder BY_FOLDER)
  endif()
  k2k_unite(${target} ${by_folder} ${sources_cpp})
  if(arg_OUTPUT)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME "${arg_OUTPUT}")
  endif()
  if(K2K_TESTS AND sources_test)
    if(NOT arg_MAIN)
      set(arg_MAIN main.cpp)
    endif()
    list(REMOVE_ITEM sources_cpp "${CMAKE_CURRENT_SOURCE_DIR}/${arg_MAIN}")
    k2k_add_tests(${target}_test unit SOURCES ${sources_test} ${sources_cpp} LIBS k2k_all ${arg_LIBS})
    target_include_directories(${target}_test PRIVATE "${PROJECT_SOURCE_DIR}")
  endif()
endfunction()

function(k2k_suite target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED_TESTS" "LABEL" "LIBS;TIMED;EXCLUDE")
  k2k_refuse_unparsed("k2k_suite(${target})" "${arg_UNPARSED_ARGUMENTS}")
  k2k_collect_sources(sources "${arg_EXCLUDE}")
  if(NOT sources_cpp AND NOT sources_test)
    message(STATUS "${target}: no sources yet, skipped")
    return()
  endif()
  set(optimised "")
  if(arg_OPTIMISED_TESTS)
    set(optimised OPTIMISED)
  endif()
  k2k_add_tests(${target} ${arg_LABEL} ${optimised} SOURCES ${sources_cpp} ${sources_test}
    LIBS k2k_all ${arg_LIBS} TIMED ${arg_TIMED})
  k2k_unite(${target} ${sources_cpp} ${sources_test})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()
