# Wheels for systems older than this one: the operators are compiled as ever and linked against the names of glibc 2.28 and of
# GCC 8's libstdc++, which scripts/wheels/prepare.sh writes. libstdc++ stays the one of the process, since exceptions pass
# through torch; what GCC 8 did not have yet comes out of the static library.

if(NOT EXISTS ${QUEST_MANYLINUX}/libstdc++.so.6)
  message(FATAL_ERROR "QUEST_MANYLINUX must be a folder that scripts/wheels/prepare.sh wrote; got '${QUEST_MANYLINUX}'. "
    "`make wheels` does both.")
endif()

function(quest_compilers_file variable name)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${path} PARENT_SCOPE)
endfunction()
quest_compilers_file(static_libstdcxx libstdc++.a)
quest_compilers_file(shared_libgcc libgcc_s.so.1)
quest_compilers_file(static_libgcc libgcc.a)
quest_compilers_file(static_libc libc_nonshared.a)  # the few functions that glibc never shares

# The order decides: a name that the old libstdc++ has is not taken from the static one.
set(old ${QUEST_MANYLINUX})
set(libraries ${old}/libstdc++.so.6 ${static_libstdcxx} ${shared_libgcc} ${static_libgcc}
  ${old}/libm.so.6 ${old}/libc.so.6 ${static_libc} ${old}/libpthread.so.0 ${old}/libdl.so.2 ${old}/librt.so.1
  ${old}/libld.so.2)
list(JOIN libraries " " CMAKE_CXX_STANDARD_LIBRARIES)
string(PREPEND CMAKE_CXX_STANDARD_LIBRARIES "-Wl,--as-needed ")
add_link_options(-nodefaultlibs -Wl,-z,defs -Wl,--gc-sections -Wl,--exclude-libs,ALL)

# Highway beside the operators' own code instead of a library to be found.
add_library(hwy STATIC ${QUEST_MANYLINUX}/highway/hwy/targets.cc)
add_library(hwy::hwy ALIAS hwy)
target_include_directories(hwy SYSTEM PUBLIC ${QUEST_MANYLINUX}/highway)
target_compile_options(hwy PRIVATE -w)
