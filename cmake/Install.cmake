# Install and export: library, headers, pmix.pc, a CMake package.
include(CMakePackageConfigHelpers)
install(TARGETS pmix EXPORT PMIxTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS pmix_static DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
configure_file(cmake/pmix.pc.in pmix.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pmix.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(EXPORT PMIxTargets NAMESPACE PMIx:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx)
configure_package_config_file(cmake/PMIxConfig.cmake.in PMIxConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx)
write_basic_package_version_file(PMIxConfigVersion.cmake VERSION 5.0.0 COMPATIBILITY AnyNewerVersion)
install(FILES ${PROJECT_BINARY_DIR}/PMIxConfig.cmake ${PROJECT_BINARY_DIR}/PMIxConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/PMIx)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
