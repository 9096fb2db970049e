# Objects without Python: spinney_common, and one kernels_<level> per vector level of `levels`.
set(flags_baseline "")
set(flags_avx2 -mavx2 -mbmi -mbmi2 -mfma -mpopcnt)
set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
if(MSVC)  # clang-cl
  list(TRANSFORM flags_avx2 PREPEND "/clang:")
  list(TRANSFORM flags_avx512 PREPEND "/clang:")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(all_levels baseline avx2 avx512)
else()
  set(all_levels baseline)
endif()
set(levels ${SPINNEY_LEVELS})
if(SPINNEY_LEVELS STREQUAL "native")
  set(levels ${all_levels})
  if(NOT CMAKE_CROSSCOMPILING)
    try_run(ran compiled SOURCE_FROM_CONTENT cpu_level.cpp
            "#include <cstdio>\n#include \"simd/cpu_level.hpp\"\nint main() { std::fputs(spinney::cpu_level(), stdout); }"
            CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${CMAKE_SOURCE_DIR}/native RUN_OUTPUT_VARIABLE levels)
    if(NOT compiled OR NOT ran EQUAL 0)
      message(FATAL_ERROR "cannot tell the vector level of this processor; set SPINNEY_LEVELS")
    endif()
  endif()
elseif(SPINNEY_LEVELS STREQUAL "all")
  set(levels ${all_levels})
endif()
message(STATUS "Vector levels: ${levels}")

# What nearly every source of a target includes is read once. Not with ccache, which caches no sources with precompiled headers by default.
function(precompile name)
  if(NOT CCACHE)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# flags: those of the vector level. Functions in sections of their own: the linker drops what is not used.
function(add_objects name flags)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden)
  if(NOT MSVC)
    set(flags -fno-stack-protector ${flags} -ffunction-sections -fdata-sections)
  endif()
  target_compile_options(${name} PRIVATE ${flags})
endfunction()

# SPINNEY_NO_VECTORS keeps the vector types, whose width depends on the level, out of code that all levels share.
add_objects(spinney_common "" ${common_sources})
target_compile_definitions(spinney_common PRIVATE SPINNEY_NO_VECTORS)

# Files with the same headers are compiled as one, because reading the headers takes longer than the rest: those of `sources` whose path
# matches `pattern`.
function(compile_together group pattern)
  list(FILTER ARGN INCLUDE REGEX ${pattern})
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
endfunction()
compile_together(linear "native/linear/" ${kernel_sources})

set(kernel_headers core/random.hpp core/thread_pool.hpp core/types.hpp data/code_matrix.hpp simd/vectors.hpp split/candidate.hpp
    split/criteria.hpp split/node_values.hpp split/options.hpp split/statistics.hpp)
list(TRANSFORM kernel_headers PREPEND ${CMAKE_SOURCE_DIR}/native/)

foreach(level ${levels})
  add_objects(kernels_${level} "${flags_${level}}" ${kernel_sources})
  set_target_properties(kernels_${level} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  precompile(kernels_${level} <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <functional> <limits> <memory> <mutex>
             <numeric> <span> <string> <utility> <vector> ${kernel_headers})
endforeach()
