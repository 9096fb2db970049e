# The Python modules: _cpu, and one _core_<level> per vector level.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
find_package(nanobind CONFIG REQUIRED)

# A wheel for the stable ABI (wheel.py-api in pyproject.toml) runs on every later Python.
set(variant "")
if(SKBUILD_SABI_VERSION)
  set(variant -abi3)
  set(stable_abi STABLE_ABI)
  set(cpu_abi USE_SABI ${SKBUILD_SABI_VERSION})
endif()

Python_add_library(_cpu MODULE ${cpu_abi} WITH_SOABI native/bindings/cpu_probe.cpp)
install(TARGETS _cpu LIBRARY DESTINATION spinney/native)

file(GLOB binding_sources CONFIGURE_DEPENDS native/bindings/*.cpp)
list(FILTER binding_sources EXCLUDE REGEX "cpu_probe|module")

set(nanobind nanobind-static${variant})
nanobind_build_library(${nanobind})
set_target_properties(${nanobind} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)  # a third of the time
if(variant)
  target_compile_definitions(${nanobind} PUBLIC Py_LIMITED_API=0x030C0000)
endif()

# Compiled once for all levels, as spinney_common. All levels may share a domain: a process loads one of them.
add_objects(spinney_bindings "" ${binding_sources})
target_compile_definitions(spinney_bindings PRIVATE SPINNEY_NO_VECTORS)
set_target_properties(spinney_bindings PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
precompile(spinney_bindings <memory> <nanobind/stl/optional.h> <nanobind/stl/vector.h> <optional> <string> <utility> <vector>
           ${CMAKE_SOURCE_DIR}/native/bindings/arrays.hpp ${CMAKE_SOURCE_DIR}/native/bindings/interrupt.hpp)
compile_together(blocks "register_(blocks|ranking)" ${binding_sources})
compile_together(boost "register_(boost|grow|tree)" ${binding_sources})
compile_together(store "register_(matrix|store)" ${binding_sources})
compile_together(explain "register_(explain|stumps)" ${binding_sources})
compile_together(predict "register_(core|predict)" ${binding_sources})
if(NOT MSVC AND NOT SPINNEY_SANITIZE)  # they convert arguments; the loops that take time are in the kernels
  target_compile_options(spinney_bindings PRIVATE -O1 -finline-small-functions)
endif()
list(TRANSFORM levels PREPEND kernels_ OUTPUT_VARIABLE kernels)
foreach(objects spinney_bindings spinney_common ${kernels})
  target_link_libraries(${objects} PRIVATE ${nanobind})
  target_compile_definitions(${objects} PRIVATE NB_DOMAIN=spinney)
endforeach()

foreach(level ${levels})
  # Kernels first: where both define an inline function, the linker keeps the first, which is this level's.
  nanobind_add_module(_core_${level} NB_STATIC NOMINSIZE ${stable_abi} NB_DOMAIN spinney native/bindings/module.cpp
                      $<TARGET_OBJECTS:kernels_${level}> $<TARGET_OBJECTS:spinney_common>
                      $<TARGET_OBJECTS:spinney_bindings>)
  target_compile_definitions(_core_${level} PRIVATE SPINNEY_MODULE=_core_${level})
  install(TARGETS _core_${level} LIBRARY DESTINATION spinney/native)
endforeach()
