# nvcc for the CUDA kernels, and for which GPUs a kernel is compiled.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "QUEST_CUDA=ON needs nvcc and none was found. Put it on PATH, set CUDACXX, or configure with QUEST_CUDA=OFF.")
endif()

# Machine code for Ampere and Hopper; newer GPUs translate the intermediate code of 8.0 when a kernel is first used.
set(QUEST_CUDA_ARCHITECTURES 80 90a-real CACHE STRING "GPUs for which the portable kernels are compiled")

set(CMAKE_CUDA_ARCHITECTURES 80)
enable_language(CUDA)
unset(CMAKE_CUDA_ARCHITECTURES)  # every target sets its own
unset(CMAKE_CUDA_ARCHITECTURES CACHE)
set(CMAKE_CUDA_STANDARD 20)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc speaks C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
find_package(CUDAToolkit REQUIRED)

if(QUEST_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${QUEST_CCACHE})
endif()

# nvcc compresses intermediate code, and machine code only when asked to: packages shrink by a factor of three to seven.
# The driver unpacks a kernel when it is first used.
set(quest_cuda_compression)
if(QUEST_OPERATORS_ONLY AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.4)
  set(quest_cuda_compression --compress-mode=size)
elseif(QUEST_OPERATORS_ONLY)
  set(quest_cuda_compression -Xfatbin=-compress-all)
endif()

# quest_cuda_kernels(NAME ARCHITECTURES... SOURCES...): part of the CUDA kernels, compiled for some GPUs.
function(quest_cuda_kernels name)
  cmake_parse_arguments(ARG "" "" "ARCHITECTURES;SOURCES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${ARG_ARCHITECTURES}")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # Functions that are constant expressions serve the CPU and the GPU alike.
  target_compile_options(${name} PRIVATE --expt-relaxed-constexpr ${quest_cuda_compression})
endfunction()
