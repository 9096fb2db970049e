# One program per native/tests/<folder>/test_*.cpp; all link the same library of kernels, compiled once.
enable_testing()
file(GLOB test_sources CONFIGURE_DEPENDS native/tests/*/test_*.cpp)

# Static libraries need a source; this one holds none of the code.
file(WRITE ${CMAKE_BINARY_DIR}/empty.cpp "")
add_library(spinney_kernels STATIC ${common_sources} ${kernel_sources} ${CMAKE_BINARY_DIR}/empty.cpp)

foreach(source ${test_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE spinney_kernels)
  add_test(NAME ${name} COMMAND ${name})
endforeach()

# Row numbers of 16 bits: where rows and features are multiplied in too small a type, these trees come out wrong.
set(small_sources ${common_sources} ${kernel_sources})
list(FILTER small_sources EXCLUDE REGEX "native/(boost|predict|moments|online|svm)/")
add_executable(test_small_index native/tests/grow/test_grow.cpp ${small_sources})
target_compile_definitions(test_small_index PRIVATE SPINNEY_SMALL_INDEX)
add_test(NAME test_small_index COMMAND test_small_index)
