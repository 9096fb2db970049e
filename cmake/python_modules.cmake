# The Python modules: _cpu, and one _core_<level> per vector level.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
find_package(nanobind CONFIG REQUIRED)

Python_add_library(_cpu MODULE WITH_SOABI native/bindings/cpu_probe.cpp)
install(TARGETS _cpu LIBRARY DESTINATION spinney/native)

set(flags_baseline "")
set(flags_avx2 -mavx2 -mbmi -mbmi2 -mfma -mpopcnt)
set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
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

file(GLOB binding_sources CONFIGURE_DEPENDS native/bindings/*.cpp)
list(FILTER binding_sources EXCLUDE REGEX "cpu_probe|module")

nanobind_build_library(nanobind-static)
set_target_properties(nanobind-static PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)  # a third of the time

# All levels may share a domain: a process loads one of them.
function(add_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE nanobind-static)
  target_compile_definitions(${name} PRIVATE NB_DOMAIN=spinney)
  if(COMMAND nanobind_disable_stack_protector)
    nanobind_disable_stack_protector(${name})
  endif()
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden)
endfunction()

# ccache does not cache sources with precompiled headers by default.
function(precompile name)
  if(NOT CCACHE)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# SPINNEY_NO_VECTORS keeps the vector types, whose width depends on the level, out of code that all levels share.
add_objects(spinney_common ${common_sources})
add_objects(spinney_bindings ${binding_sources})
precompile(spinney_bindings <nanobind/nanobind.h> <nanobind/ndarray.h> <nanobind/stl/optional.h> <nanobind/stl/string.h>
           <nanobind/stl/vector.h>)
target_compile_definitions(spinney_common PRIVATE SPINNEY_NO_VECTORS)
target_compile_definitions(spinney_bindings PRIVATE SPINNEY_NO_VECTORS)

# Small files with the same headers are compiled as one, because reading the headers takes longer than the rest.
set(linear_sources ${kernel_sources})
list(FILTER linear_sources INCLUDE REGEX "native/linear/")
set_source_files_properties(${linear_sources} PROPERTIES UNITY_GROUP linear)

foreach(level ${levels})
  add_objects(kernels_${level} ${kernel_sources})
  set_target_properties(kernels_${level} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(kernels_${level} PRIVATE ${flags_${level}})
  precompile(kernels_${level} <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <functional> <limits> <memory> <mutex>
             <numeric> <span> <string> <utility> <vector>)
  # Kernels first: where both define an inline function, the linker keeps the first, which is this level's.
  nanobind_add_module(_core_${level} NB_STATIC NOMINSIZE NB_DOMAIN spinney native/bindings/module.cpp
                      $<TARGET_OBJECTS:kernels_${level}> $<TARGET_OBJECTS:spinney_common>
                      $<TARGET_OBJECTS:spinney_bindings>)
  target_compile_definitions(_core_${level} PRIVATE SPINNEY_MODULE=_core_${level})
  install(TARGETS _core_${level} LIBRARY DESTINATION spinney/native)
endforeach()

# The kernel tests link the first level, which every processor of a build has.
list(GET levels 0 level)
set(kernel_objects $<TARGET_OBJECTS:kernels_${level}> $<TARGET_OBJECTS:spinney_common>)
set(kernel_flags ${flags_${level}})
