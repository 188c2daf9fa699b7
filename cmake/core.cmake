if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "widemargin needs GCC or Clang: its loops use their vector types")
endif()

# Every hot loop is compiled once per instruction set, each in its own namespace
# (WIDEMARGIN_ISA); cpp/widemargin/dispatch picks one when the module is loaded.
add_library(widemargin_core STATIC
            cpp/widemargin/base/buffer.cpp
            cpp/widemargin/base/parallel.cpp
            cpp/widemargin/base/shuffle.cpp
            cpp/widemargin/dispatch/dispatch.cpp
            cpp/widemargin/kernel/encoding.cpp
            cpp/widemargin/kernel/kernel_matrix.cpp
            cpp/widemargin/kernel/kernel_source.cpp
            cpp/widemargin/kernel/packed_examples.cpp
            cpp/widemargin/svm/decomposition.cpp
            cpp/widemargin/svm/first_solution.cpp
            cpp/widemargin/svm/partition.cpp
            cpp/widemargin/svm/selection.cpp
            cpp/widemargin/svm/shrinking.cpp
            cpp/widemargin/svm/working_set.cpp)
target_compile_options(widemargin_core PRIVATE -O3 -fvisibility=hidden -Wall -Wextra)
target_include_directories(widemargin_core PUBLIC cpp)

function(widemargin_add_isa name)
  add_library(widemargin_${name} OBJECT cpp/widemargin/dispatch/loops.cpp)
  target_include_directories(widemargin_${name} PRIVATE cpp)
  target_compile_definitions(widemargin_${name} PRIVATE WIDEMARGIN_ISA=${name})
  target_compile_options(widemargin_${name} PRIVATE ${ARGN})
  target_link_libraries(widemargin_core PRIVATE $<TARGET_OBJECTS:widemargin_${name}>)
  target_compile_definitions(widemargin_core PRIVATE WIDEMARGIN_HAS_${name})
  if(OpenMP_CXX_FOUND)
    target_link_libraries(widemargin_${name} PRIVATE OpenMP::OpenMP_CXX)
  endif()
endfunction()

find_package(OpenMP QUIET COMPONENTS CXX)
if(OpenMP_CXX_FOUND)
  target_link_libraries(widemargin_core PUBLIC OpenMP::OpenMP_CXX)
endif()

# Namespaces keep the sets apart; hiding their symbols would not (docs/decisions/0001).
set(WIDEMARGIN_FLAGS -O3 -fopenmp-simd -fvisibility=hidden -fno-math-errno -fno-trapping-math
    -Wall -Wextra -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # it warns when it cannot vectorise an `omp simd` loop
  list(APPEND WIDEMARGIN_FLAGS -Wno-pass-failed)
endif()

# Instruction sets beyond the baseline. A build for one machine may name fewer and is quicker.
set(WIDEMARGIN_WIDER_ISAS "avx2;avx512" CACHE STRING "Instruction sets beside the baseline")

widemargin_add_isa(baseline ${WIDEMARGIN_FLAGS})
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  if("avx2" IN_LIST WIDEMARGIN_WIDER_ISAS)
    widemargin_add_isa(avx2 ${WIDEMARGIN_FLAGS} -mavx2 -mfma)
  endif()
  if("avx512" IN_LIST WIDEMARGIN_WIDER_ISAS)
    widemargin_add_isa(avx512 ${WIDEMARGIN_FLAGS} -mavx2 -mfma -mavx512f -mavx512dq -mavx512bw
                       -mavx512vl -mavx512vpopcntdq -mprefer-vector-width=256)
  endif()
endif()
