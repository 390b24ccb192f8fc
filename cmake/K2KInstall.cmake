# cmake --install: headers, libk2k, libk2k_io, the command line with its pages, the CMake package and k2k.pc.
#
# Everything is relocatable. <prefix>/share/k2k/manifest.txt lists the installed files;
# `./dev uninstall <prefix>` removes exactly these files.

include(CMakePackageConfigHelpers)

set(man_dir "${CMAKE_INSTALL_MANDIR}/man1")
set(bash_dir "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
set(zsh_dir "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
set(fish_dir "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/k2k")
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# --- Do the files to be installed exist? `cmake --install` builds nothing.
set(built "")
foreach(target IN ITEMS k2k k2k_shim k2k_shim_router k2k_cli)
  if(TARGET ${target})
    list(APPEND built "$<TARGET_FILE:${target}>")
  endif()
endforeach()
if(TARGET k2k_cli)
  list(APPEND built "${PROJECT_BINARY_DIR}/pages/manual-pages")
endif()
if(K2K_HIP)
  list(APPEND built "$<TARGET_FILE:k2k_hip_registration>")
endif()
set(build "cmake --build ${PROJECT_BINARY_DIR}")
cmake_path(GET PROJECT_BINARY_DIR FILENAME preset)
if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build/release")
  set(build "./dev build")
elseif(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build/${preset}")
  set(build "./dev build --preset ${preset}")
endif()
install(CODE "set(K2K_BUILT \"${built}\")\nset(K2K_BUILD \"${build}\")")
install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/need_built.cmake")

# --- The manifest, first half: which of the folders are there already?
set(folders "${CMAKE_INSTALL_BINDIR}" "${CMAKE_INSTALL_LIBEXECDIR}/k2k" "${CMAKE_INSTALL_INCLUDEDIR}/k2k" "${man_dir}" "${bash_dir}"
  "${zsh_dir}" "${fish_dir}" "${package_dir}" "${pkgconfig_dir}" "${CMAKE_INSTALL_DATADIR}/k2k")
configure_file("${PROJECT_SOURCE_DIR}/cmake/manifest_begin.cmake.in"
  "${PROJECT_BINARY_DIR}/manifest_begin.cmake" @ONLY)
install(SCRIPT "${PROJECT_BINARY_DIR}/manifest_begin.cmake")

# --- The library
if(TARGET k2k)
  install(TARGETS k2k EXPORT k2kTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT k2kTargets NAMESPACE k2k:: DESTINATION "${package_dir}")
  if(K2K_HIP)
    install(TARGETS k2k_hip_registration EXPORT k2kTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/k2kConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/k2kConfig.cmake" INSTALL_DESTINATION "${package_dir}"
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/k2kConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/k2kConfig.cmake"
    "${PROJECT_BINARY_DIR}/k2kConfigVersion.cmake" "${PROJECT_SOURCE_DIR}/cmake/k2kHip.cmake" DESTINATION "${package_dir}")

  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
    OUTPUT_VARIABLE libdir)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE prefix_from_pc)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/k2k.pc.in" "${PROJECT_BINARY_DIR}/k2k.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/k2k.pc" DESTINATION "${pkgconfig_dir}")
endif()

# --- The library for LD_PRELOAD, and the library that it loads from beside itself
if(TARGET k2k_shim)
  install(TARGETS k2k_shim k2k_shim_router LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# --- The headers: the public doors, and the headers that they include
install(CODE "set(K2K_SOURCE \"${PROJECT_SOURCE_DIR}\")
set(K2K_HEADERS_TO \"${CMAKE_INSTALL_INCLUDEDIR}\")
set(K2K_HEADERS_MADE \"${PROJECT_BINARY_DIR}/headers\")")
install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake")

# The headers of the standard library that NVRTC lacks: -I<include>/k2k/modules/device/nvrtc.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/device/nvrtc"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/k2k/modules/device")

# The words of the language for clang without HIP's headers (k2kHip.cmake).
install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/device/hip_language"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/k2k/modules/device")

# --- The command line; it prints its own manual pages and completions. Some of its commands are
# programs; k2k-bench and k2k-lab, with their pages, are the component `lab`.
if(TARGET k2k_cli)
  install(TARGETS k2k_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  get_property(guests GLOBAL PROPERTY K2K_GUESTS)
  list(TRANSFORM guests PREPEND k2k_ OUTPUT_VARIABLE guest_targets)
  set(pages "${PROJECT_BINARY_DIR}/pages")
  add_custom_command(OUTPUT "${pages}/manual-pages"
    COMMAND "${CMAKE_COMMAND}" "-DK2K=$<TARGET_FILE:k2k_cli>" "-DPAGES=${pages}"
      -P "${PROJECT_SOURCE_DIR}/cmake/write_pages.cmake"
    DEPENDS k2k_cli ${guest_targets} "${PROJECT_SOURCE_DIR}/cmake/write_pages.cmake"
    COMMENT "Writing the manual pages and completions" VERBATIM)
  add_custom_target(pages ALL DEPENDS "${pages}/manual-pages")
  set(of_guests "")
  foreach(guest IN LISTS guests)
    get_property(component GLOBAL PROPERTY K2K_GUEST_${guest}_COMPONENT)
    list(TRANSFORM component PREPEND "COMPONENT;")
    install(TARGETS k2k_${guest} RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/k2k" ${component})
    install(FILES "${pages}/man/k2k-${guest}.1" DESTINATION "${man_dir}" ${component})
    list(APPEND of_guests PATTERN "k2k-${guest}.1" EXCLUDE)
  endforeach()
  install(DIRECTORY "${pages}/man/" DESTINATION "${man_dir}" ${of_guests})
  install(FILES "${pages}/completion.bash" DESTINATION "${bash_dir}" RENAME k2k)
  install(FILES "${pages}/completion.zsh" DESTINATION "${zsh_dir}" RENAME _k2k)
  install(FILES "${pages}/completion.fish" DESTINATION "${fish_dir}" RENAME k2k.fish)
endif()

# --- The manifest, second half: after everything else
install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/manifest_end.cmake")
