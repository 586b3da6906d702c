# The package that find_package(quest) reads: libraries, headers, program, targets.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quest)
set(installed_targets quest)
foreach(optional_target IN ITEMS quest_ops quest_cli)
  if(TARGET ${optional_target})
    list(APPEND installed_targets ${optional_target})
  endif()
endforeach()

# The libraries find each other beside themselves, the program finds them in ../lib; torch stays where it was.
set_target_properties(${installed_targets} PROPERTIES
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS ${installed_targets} EXPORT quest-targets)
install(DIRECTORY include/quest DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quest-targets NAMESPACE quest:: DESTINATION ${package_dir})

configure_package_config_file(cmake/quest-config.cmake.in quest-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(quest-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quest-config.cmake ${PROJECT_BINARY_DIR}/quest-config-version.cmake
  DESTINATION ${package_dir})
