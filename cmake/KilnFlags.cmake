# SPDX-License-Identifier: Apache-2.0
# Language, warnings, sanitizers. Floating point: no contraction anywhere, the interpreter is the oracle for bits.
add_library(kiln-flags INTERFACE)
target_include_directories(kiln-flags INTERFACE "${CMAKE_SOURCE_DIR}/include" "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/gen")
target_compile_definitions(kiln-flags INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(kiln-flags INTERFACE
    -std=c17 -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Wundef -Wcast-qual -Wformat=2)
if(KILN_WERROR)
    target_compile_options(kiln-flags INTERFACE -Werror)
endif()
if(KILN_SANITIZE)
    target_compile_options(kiln-flags INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
    target_link_options(kiln-flags INTERFACE -fsanitize=${KILN_SANITIZE})
endif()
if(KILN_COVERAGE)
    target_compile_options(kiln-flags INTERFACE --coverage)
    target_link_options(kiln-flags INTERFACE --coverage)
endif()
