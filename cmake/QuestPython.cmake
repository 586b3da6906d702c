# The Python package: what pip puts into a wheel and what the tests import. The same libraries, in a folder of their own.
set(libraries quest_ops)
if(QUEST_CUDA)
  list(APPEND libraries quest_ops_cuda)
endif()
add_custom_target(quest_python DEPENDS ${libraries})
if(QUEST_OPERATORS_ONLY)
  # torch is in the process before the operators are loaded; its folder must not enter a wheel.
  set_target_properties(${libraries} PROPERTIES INSTALL_RPATH $ORIGIN)
endif()

set(component COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY python/quest_attention DESTINATION . ${component} PATTERN __pycache__ EXCLUDE)
install(TARGETS ${libraries} LIBRARY DESTINATION quest_attention/lib ${component})
if(NOT QUEST_MANYLINUX)  # which has Highway inside
  install(FILES $<TARGET_FILE:hwy::hwy> DESTINATION quest_attention/lib RENAME $<TARGET_SONAME_FILE_NAME:hwy::hwy>
    ${component})
endif()
