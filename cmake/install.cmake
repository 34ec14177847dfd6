# What `cmake --install` puts into a prefix: headers, the libraries, the tool, and the files find_package(Tenon) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(TENON_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)

install(TARGETS tenon EXPORT TenonTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN "compile/cpu" EXCLUDE PATTERN "python" EXCLUDE)
# Opened at run time beside libtenon, never linked: not part of the export.
install(TARGETS tenon_codegen tenon_fft tenon_sort tenon_lapack LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tenon_cli)
  install(TARGETS tenon_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE THIRD_PARTY_NOTICES.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/TenonConfig.cmake.in ${PROJECT_BINARY_DIR}/TenonConfig.cmake
                              INSTALL_DESTINATION ${TENON_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TenonConfig.cmake ${PROJECT_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${TENON_CMAKE_DIR})
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${TENON_CMAKE_DIR})
