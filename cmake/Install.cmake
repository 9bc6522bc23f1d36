# SPDX-License-Identifier: BSD-3-Clause
# Install and export: library, headers, pmix.pc, a CMake package. Components, for the packages (cmake/Packages.cmake):
# runtime, dev, tools; place: what names the folder of the library, which is another in the packages of cpack; compiler:
# pmixcc, which cpack's packages leave out because OpenPMIx's package libpmix-bin, which may stay beside them, has a file of
# that name; launcher: pmixrun, which is installed only where it is asked for (packaging/).
include(CMakePackageConfigHelpers)
install(TARGETS pmix EXPORT PMIxTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT place)
install(TARGETS pmix_static DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")

# pmix.pc finds its prefix from where it lies, so that a tree may be installed elsewhere than configured, or be moved.
# Directories that were given as absolute paths stay what they are.
set(WIREUP_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
set(WIREUP_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
set(WIREUP_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH _up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" _up "${_up}")
  set(WIREUP_PC_PREFIX "\${pcfiledir}/${_up}")
  set(WIREUP_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(WIREUP_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
endif()
configure_file(cmake/pmix.pc.in pmix.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pmix.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
install(EXPORT PMIxTargets NAMESPACE PMIx:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx COMPONENT place)

# find_package() looks for a file of the very name it was asked for, so both spellings have one.
configure_package_config_file(cmake/PMIxConfig.cmake.in PMIxConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(PMIxConfigVersion.cmake VERSION ${WIREUP_PMIX_RELEASE} COMPATIBILITY AnyNewerVersion)
foreach(_name PMIxConfig pmix-config)
  install(FILES ${PROJECT_BINARY_DIR}/PMIxConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx COMPONENT dev
    RENAME ${_name}.cmake)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/PMIxConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/PMIxConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx COMPONENT dev
  RENAME pmix-config-version.cmake)
install(PROGRAMS tools/pmixcc DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
if(TARGET pmixrun)
  install(TARGETS pmixrun RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT launcher EXCLUDE_FROM_ALL)
endif()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
include(cmake/Packages.cmake)
