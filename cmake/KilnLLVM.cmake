# SPDX-License-Identifier: Apache-2.0
# libkiln-llvm.so: the only part that knows LLVM. Linked with the static archives, hidden symbols and section
# collection, so that it loads in milliseconds and cannot meet an LLVM that the host program has loaded.
find_program(LLVM_CONFIG NAMES llvm-config-19 llvm-config-20 llvm-config REQUIRED)
execute_process(COMMAND ${LLVM_CONFIG} --version OUTPUT_VARIABLE LLVM_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE LLVM_INCLUDE OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs x86codegen analysis target OUTPUT_VARIABLE LLVM_LIBS OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE LLVM_LIBDIR OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --link-static --system-libs OUTPUT_VARIABLE LLVM_SYSTEM OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(LLVM_LIBS)
separate_arguments(LLVM_SYSTEM)
file(GLOB llvm_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/llvm/*.c")
if(llvm_sources)
    # Some files of the library, compiled in: the module calls nothing of libkiln.
    set(llvm_borrowed base/memory.c base/map.c array/dtype.c array/float8.c array/scalar.c loop/vary.c)
    list(TRANSFORM llvm_borrowed PREPEND "${CMAKE_SOURCE_DIR}/src/")
    add_library(kiln-llvm SHARED ${llvm_sources} ${llvm_borrowed})
    target_link_libraries(kiln-llvm PRIVATE kiln-flags)
    target_include_directories(kiln-llvm SYSTEM PRIVATE ${LLVM_INCLUDE})
    target_link_options(kiln-llvm PRIVATE -L${LLVM_LIBDIR} -fuse-ld=lld -Wl,--gc-sections "-Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/module.map" -Wl,-O1 -Wl,-s)
    set_target_properties(kiln-llvm PROPERTIES LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/module.map")
    target_link_libraries(kiln-llvm PRIVATE ${LLVM_LIBS} ${LLVM_SYSTEM} stdc++)
endif()
