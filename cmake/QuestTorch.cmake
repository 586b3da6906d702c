# Finds LibTorch inside an installed torch package. Its targets (torch, torch_cpu) count as system headers.

# The python that runs pip, else the one beside a given torch (it ends in lib/pythonX.Y/site-packages/torch), else .venv's,
# else the system's.
if(SKBUILD)
  set(QUEST_PYTHON ${Python_EXECUTABLE})
endif()
if(QUEST_TORCH_DIR)
  find_program(QUEST_PYTHON python3 NO_CACHE NO_DEFAULT_PATH PATHS ${QUEST_TORCH_DIR}/../../../../bin)
endif()
find_program(QUEST_PYTHON python3 NO_CACHE NO_DEFAULT_PATH PATHS ${PROJECT_SOURCE_DIR}/.venv/bin)
find_program(QUEST_PYTHON python3 NO_CACHE)
if(QUEST_PYTHON AND NOT QUEST_TORCH_DIR)
  # pip hides the environment's packages from a build, but they stay where they are.
  execute_process(
    COMMAND ${QUEST_PYTHON} -c "import importlib.util, os, sysconfig; found = importlib.util.find_spec('torch'); \
print(found.submodule_search_locations[0] if found else os.path.join(sysconfig.get_path('platlib'), 'torch'))"
    OUTPUT_VARIABLE QUEST_TORCH_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT EXISTS ${QUEST_TORCH_DIR}/share/cmake/Torch/TorchConfig.cmake)
  message(FATAL_ERROR "A torch package is needed and none was found (looked at '${QUEST_TORCH_DIR}').\n"
    "Run scripts/setup.sh, for the Python package 'pip install torch', or set TORCH_DIR to the folder that 'python3 -c \"import torch; print(torch.__path__[0])\"' prints.")
endif()

# The operators use torch's stable ABI alone: its headers and one library to link, with or without CUDA in it.
if(QUEST_OPERATORS_ONLY)
  set(TORCH_INCLUDE_DIRS ${QUEST_TORCH_DIR}/include)
  add_library(torch_cpu SHARED IMPORTED)
  set_target_properties(torch_cpu PROPERTIES IMPORTED_LOCATION ${QUEST_TORCH_DIR}/lib/libtorch_cpu.so)
  message(STATUS "torch: ${QUEST_TORCH_DIR}")
  return()
endif()

# Some torch packages (2.11) export functions of std::filesystem that call what is not there: programs look in the
# system's library first.
if(UNIX AND NOT APPLE)
  add_link_options(LINKER:--push-state,--no-as-needed -lstdc++ LINKER:--pop-state)
endif()

# An earlier configure may have cached another torch.
if(NOT Torch_DIR STREQUAL ${QUEST_TORCH_DIR}/share/cmake/Torch)
  unset(TORCH_LIBRARY CACHE)
  unset(c10_LIBRARY CACHE)
  unset(Caffe2_DIR CACHE)
  set(Torch_DIR ${QUEST_TORCH_DIR}/share/cmake/Torch CACHE PATH "Folder of TorchConfig.cmake" FORCE)
endif()

# TorchConfig warns about a profiler library that its own package does not ship; nothing of ours uses it.
set(kineto_LIBRARY unused)
# A torch with CUDA looks for the toolkit beside the nvcc on PATH, which may be a link, and adds the GPUs it would compile
# for, or finds by running a program, to every nvcc command; ours are chosen per target.
if(CUDAToolkit_FOUND AND NOT CUDA_TOOLKIT_ROOT_DIR)
  set(CUDA_TOOLKIT_ROOT_DIR ${CUDAToolkit_TARGET_DIR})
endif()
set(TORCH_CUDA_ARCH_LIST 9.0)
set(cuda_flags "${CMAKE_CUDA_FLAGS}")
find_package(Torch REQUIRED)
set(CMAKE_CUDA_FLAGS "${cuda_flags}")
unset(kineto_LIBRARY)
message(STATUS "torch: ${QUEST_TORCH_DIR}")

# Every LibTorch target reuses the library's precompiled header. GCC accepts one only under the same code model,
# so programs are compiled with the library's -fPIC instead of -fPIE.
function(quest_torch_pch target)
  if(NOT QUEST_PCH)
    return()
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF DEFINE_SYMBOL "")
  target_compile_options(${target} PRIVATE -fPIC)
  if(target STREQUAL quest)
    target_precompile_headers(quest PRIVATE <torch/torch.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM quest)
  endif()
endfunction()
