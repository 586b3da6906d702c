# nvcc for the CUDA kernels.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "QUEST_CUDA=ON needs nvcc and none was found. Put it on PATH, set CUDACXX, or configure with QUEST_CUDA=OFF.")
endif()
set(CMAKE_CUDA_ARCHITECTURES 90a CACHE STRING "GPU architectures to compile for")
set(CMAKE_CUDA_STANDARD 20)
enable_language(CUDA)
