# One program per native/tests/<folder>/test_*.cpp; all link kernel_objects, compiled with kernel_flags.
enable_testing()
file(GLOB test_sources CONFIGURE_DEPENDS native/tests/*/test_*.cpp)

add_custom_target(native_tests)
function(add_native_test name)
  add_executable(${name} EXCLUDE_FROM_ALL ${ARGN})
  target_compile_options(${name} PRIVATE ${kernel_flags} -O1)  # compiling them takes longer than running them
  add_test(NAME ${name} COMMAND ${name})
  add_dependencies(native_tests ${name})
endfunction()

foreach(source ${test_sources})
  get_filename_component(name ${source} NAME_WE)
  add_native_test(${name} ${source} ${kernel_objects})
endforeach()

# Row numbers of 16 bits: where rows and features are multiplied in too small a type, these trees come out wrong.
set(small_sources ${common_sources} ${kernel_sources})
list(FILTER small_sources INCLUDE REGEX "native/(core|data|split|grow)/")
add_native_test(test_small_index native/tests/grow/test_grow.cpp ${small_sources})
target_compile_definitions(test_small_index PRIVATE SPINNEY_SMALL_INDEX)
target_compile_options(test_small_index PRIVATE -O0)
