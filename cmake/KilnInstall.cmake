# SPDX-License-Identifier: Apache-2.0
# The shared library, and what `cmake --install` puts where.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(kiln-shared SHARED ${kiln_objects})
set_target_properties(kiln-shared PROPERTIES OUTPUT_NAME kiln VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/kiln.map")
target_link_options(kiln-shared PRIVATE "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/kiln.map" -Wl,--no-undefined)
target_link_libraries(kiln-shared PRIVATE kiln-flags ${KILN_LIBRARIES})

file(RELATIVE_PATH KILN_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/") # so that the folder may be moved
configure_file(cmake/kiln.pc.in kiln.pc @ONLY)
configure_package_config_file(cmake/kilnConfig.cmake.in kilnConfig.cmake INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/kiln"
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(kilnConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS kiln kiln-shared ARCHIVE LIBRARY)
install(DIRECTORY include/kiln TYPE INCLUDE)
install(FILES "${CMAKE_BINARY_DIR}/kiln.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${CMAKE_BINARY_DIR}/kilnConfig.cmake" "${CMAKE_BINARY_DIR}/kilnConfigVersion.cmake"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")
if(TARGET kiln-llvm)
    install(TARGETS kiln-llvm LIBRARY)
endif()
if(TARGET kiln-llvm-aarch64)
    install(TARGETS kiln-llvm-aarch64 LIBRARY)
endif()

if(TARGET kiln-command)
    install(TARGETS kiln-command RUNTIME)
    add_custom_command(OUTPUT kiln.1 kiln.bash _kiln
        COMMAND kiln-command --man > kiln.1
        COMMAND kiln-command completion bash > kiln.bash
        COMMAND kiln-command completion zsh > _kiln
        DEPENDS kiln-command VERBATIM)
    add_custom_target(kiln-manual ALL DEPENDS kiln.1 kiln.bash _kiln)
    install(FILES "${CMAKE_BINARY_DIR}/kiln.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
    install(FILES "${CMAKE_BINARY_DIR}/kiln.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME kiln)
    install(FILES "${CMAKE_BINARY_DIR}/_kiln" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endif()
