# GoogleTest and rapidcheck from the system; GoogleTest from its packaged sources when cross-compiling.

if(CMAKE_CROSSCOMPILING)
  set(INSTALL_GTEST OFF)
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  target_compile_options(gtest PRIVATE -w)
else()
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()

# quest_test_program(NAME SOURCES... LIBRARIES...)
function(quest_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest_main)
  if(TARGET rapidcheck_gtest)
    target_link_libraries(${name} PRIVATE rapidcheck_gtest)
  endif()
  quest_warnings(${name})
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# quest_python_test(NAME SCRIPT ARGUMENTS...): a plain script, with the torch of the build. Not under a sanitizer, whose
# run-time library would have to be loaded before the interpreter.
function(quest_python_test name script)
  if(QUEST_SANITIZE OR NOT QUEST_PYTHON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${QUEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
  cmake_path(GET QUEST_TORCH_DIR PARENT_PATH site_packages)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT PYTHONPATH=${site_packages})
endfunction()

# quest_pytest(NAME FILE [VARIABLE=VALUE...]): tests under pytest; skipped where one of tests/python/requirements.txt is missing.
function(quest_pytest name file)
  if(QUEST_SANITIZE OR NOT QUEST_PYTHON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${QUEST_PYTHON} ${PROJECT_SOURCE_DIR}/tests/python/run.py ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  cmake_path(GET QUEST_TORCH_DIR PARENT_PATH site_packages)
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "PYTHONPATH=${site_packages};PYTHONDONTWRITEBYTECODE=1;${ARGN}")
endfunction()

# quest_cuda_check(TEST [TARGETS...]): a test that `make cuda` runs, and what it needs built.
function(quest_cuda_check test)
  if(ARGN)
    add_dependencies(cuda_checks ${ARGN})
  endif()
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES LABELS cuda)
  endif()
endfunction()
