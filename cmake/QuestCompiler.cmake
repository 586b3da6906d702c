# Language, visibility, warnings, sanitizers, compile cache and linker; the same for every target of ours.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

find_program(QUEST_CCACHE ccache)
if(QUEST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache refuses sources that use a precompiled header unless told that their macros and times may differ.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${QUEST_CCACHE})
endif()

find_program(QUEST_MOLD mold)
if(QUEST_MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

if(QUEST_SANITIZE)
  # Checks inside unrolled vector code are slow to compile: line numbers are all the debug information needed, and the
  # instruction sets below AVX2 repeat the same sources.
  add_compile_options(-fsanitize=${QUEST_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    add_compile_options(-march=x86-64-v3)
  endif()
  add_link_options(-fsanitize=${QUEST_SANITIZE})
endif()

# Designated initialisers leave members at their defaults on purpose; GCC 12 reports an overlap inside its own std::string
# for every "literal" + string.
function(quest_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wno-missing-field-initializers -Wno-restrict)
  if(QUEST_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
