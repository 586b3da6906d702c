# The package that find_package(quest) reads: libraries, headers, program, targets.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quest)
# The libraries find each other beside themselves, the program finds them in ../lib, and torch stays where it was.
set(libraries quest quest_models quest_nn quest_ops)
if(QUEST_CUDA)
  list(APPEND libraries quest_ops_cuda)
endif()
set_target_properties(${libraries} quest_cli PROPERTIES
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${QUEST_TORCH_DIR}/lib")
install(TARGETS ${libraries} EXPORT quest-targets)
install(TARGETS quest_cli)
install(DIRECTORY include/quest DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quest-targets NAMESPACE quest:: DESTINATION ${package_dir})

configure_package_config_file(cmake/quest-config.cmake.in quest-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(quest-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quest-config.cmake ${PROJECT_BINARY_DIR}/quest-config-version.cmake
  DESTINATION ${package_dir})
