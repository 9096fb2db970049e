# One program per native/tests/<folder>/test_*.cpp, with the kernels of the first level, which every processor of a build has.
enable_testing()
list(GET levels 0 level)
set(kernel_objects $<TARGET_OBJECTS:kernels_${level}> $<TARGET_OBJECTS:spinney_common>)
set(kernel_flags ${flags_${level}})
file(GLOB test_sources CONFIGURE_DEPENDS native/tests/*/test_*.cpp)

add_custom_target(native_tests)
function(add_native_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "ARGUMENT" "")
  add_executable(${name} EXCLUDE_FROM_ALL ${test_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${kernel_flags} -O1)  # compiling them takes longer than running them
  add_test(NAME ${name} COMMAND ${name} ${test_ARGUMENT})
  add_dependencies(native_tests ${name})
endfunction()

foreach(source ${test_sources})
  get_filename_component(name ${source} NAME_WE)
  add_native_test(${name} ${source} ${kernel_objects})
endforeach()

# Row numbers of 16 bits: where rows and features are multiplied in too small a type, these trees come out wrong. That does
# not depend on the processor, and takes a quarter of an hour under emulation.
if(NOT CMAKE_CROSSCOMPILING)
  set(small_sources ${common_sources} ${kernel_sources})
  list(FILTER small_sources INCLUDE REGEX "native/(core|data|split|grow)/")
  add_native_test(test_small_index native/tests/grow/test_grow.cpp ${small_sources})
  target_compile_definitions(test_small_index PRIVATE SPINNEY_SMALL_INDEX)
  target_compile_options(test_small_index PRIVATE -O0)
endif()

# The same hashes at every vector level and on every processor.
set(same_bits_dir ${CMAKE_SOURCE_DIR}/native/tests/same_bits)
add_custom_target(same_bits)
foreach(level ${levels})
  set(kernel_flags ${flags_${level}})
  add_native_test(same_bits_${level} ${same_bits_dir}/same_bits.cpp $<TARGET_OBJECTS:kernels_${level}>
                  $<TARGET_OBJECTS:spinney_common> ARGUMENT ${same_bits_dir}/hashes.txt)
  set_property(TEST same_bits_${level} PROPERTY SKIP_RETURN_CODE 77)
  add_dependencies(same_bits same_bits_${level})
endforeach()
