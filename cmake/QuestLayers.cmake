# A layer is a folder of src/ with a target and an include root of its own: what a target does not link to it cannot
# include.

# quest_include_root(TARGET FOLDER [SCOPE]): lets TARGET, and what links to it, include "FOLDER/..." and nothing else.
function(quest_include_root target folder)
  string(MAKE_C_IDENTIFIER ${folder} name)
  set(root ${PROJECT_BINARY_DIR}/roots/${name})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${folder} ${root}/${folder} SYMBOLIC)
  set(scope PUBLIC ${ARGN})
  list(GET scope -1 scope)
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${root}>)
endfunction()

# quest_layer(TARGET FOLDER SOURCES... LIBRARIES... [TORCH]): a static library of a layer.
function(quest_layer target folder)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${target} STATIC ${ARG_SOURCES})
  quest_include_root(${target} ${folder})
  target_link_libraries(${target} PUBLIC ${ARG_LIBRARIES})
  quest_warnings(${target})
  if(ARG_TORCH)
    quest_torch_pch(${target})
  endif()
endfunction()

# quest_python_loops(TARGET NAMESPACE FOLDER SCRIPTS...): Python that a benchmark runs beside ours, compiled in as
# "FOLDER/<script>.h" with the constant k<Script>.
function(quest_python_loops target namespace folder)
  foreach(script IN LISTS ARGN)
    cmake_path(GET script STEM stem)
    string(REGEX MATCHALL "[a-z0-9]+" words ${stem})
    set(constant k)
    foreach(word IN LISTS words)
      string(SUBSTRING ${word} 0 1 first)
      string(TOUPPER ${first} first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(APPEND constant ${first}${rest})
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${PROJECT_SOURCE_DIR}/src/bench/python_loop.h.in)
    file(READ ${script} text)
    configure_file(${PROJECT_SOURCE_DIR}/src/bench/python_loop.h.in ${PROJECT_BINARY_DIR}/generated/${folder}/${stem}.h @ONLY)
  endforeach()
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()
