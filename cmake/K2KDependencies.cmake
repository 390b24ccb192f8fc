# What K2K is built with. Names are Debian 12's: `./dev build` installs what is missing.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)

if(K2K_PROGRAMS)
  find_package(CLI11 REQUIRED)
endif()
if(K2K_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(K2K_BENCH)
  find_package(benchmark REQUIRED)
endif()
