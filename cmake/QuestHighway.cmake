# Highway: the packaged library for run-time choice of the instruction set, or, when cross-compiling, its headers alone.

if(NOT CMAKE_CROSSCOMPILING)
  find_package(hwy REQUIRED)
  return()
endif()

# The host's /usr/include must not enter the cross compiler's search path, so the header folder is linked elsewhere.
find_path(QUEST_HIGHWAY_HEADERS hwy/highway.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(highway_include ${PROJECT_BINARY_DIR}/highway)
file(MAKE_DIRECTORY ${highway_include})
file(CREATE_LINK ${QUEST_HIGHWAY_HEADERS}/hwy ${highway_include}/hwy SYMBOLIC)

add_library(hwy INTERFACE)
add_library(hwy::hwy ALIAS hwy)
target_include_directories(hwy SYSTEM INTERFACE ${highway_include})
target_compile_definitions(hwy INTERFACE HWY_COMPILE_ONLY_STATIC)
