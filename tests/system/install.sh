#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installed into a folder, the library is found by pkg-config and by CMake, shared and static, and a short program runs with it.
set -u
: "${KILN_SOURCE:?}" "${KILN_BUILD:?}"
case $KILN_BUILD in
*/asan | */tsan | */fuzz | */coverage) echo "skipped: an instrumented build is not installed"; exit 77 ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
fail() { echo "$*"; exit 1; }

cmake --install "$KILN_BUILD" --prefix "$work/usr" > "$work/log" 2>&1 || { cat "$work/log"; fail "cmake --install failed"; }
libdir=$(dirname "$(find "$work/usr" -name libkiln.a)")
for f in bin/kiln share/man/man1/kiln.1 share/bash-completion/completions/kiln include/kiln/kiln.h; do [ -s "$work/usr/$f" ] || fail "no $f"; done
[ -e "$libdir/libkiln-llvm.so" ] || echo "built without the code generator"

cat > "$work/f.jaxpr" <<'END'
{ lambda ; a:f64[3]. let b:f64[3] = mul a 2.0:f64[] in (b,) }
END
cat > "$work/user.c" <<'END'
#include <kiln/kiln.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    kiln_ctx *ctx;
    kiln_prog *p;
    kiln_exec *f;
    kiln_array *x, *y;
    if (argc < 2 || kiln_ctx_create(NULL, &ctx) != KILN_OK) return 1;
    if (kiln_prog_load(ctx, argv[1], &p) != KILN_OK || kiln_compile(ctx, p, NULL, &f) != KILN_OK ||
        kiln_array_parse(ctx, "f64[3]:1,2,3", &x) != KILN_OK || kiln_exec_call(ctx, f, &x, &y) != KILN_OK) {
        fprintf(stderr, "%s\n", kiln_ctx_error(ctx)->message);
        return 1;
    }
    printf("%g\n", ((const double *)kiln_array_read(y))[2]);
    kiln_array_release(x);
    kiln_array_release(y);
    kiln_exec_release(f);
    kiln_prog_release(p);
    kiln_ctx_release(ctx);
    return 0;
}
END
tries() {
    got=$(LD_LIBRARY_PATH=$libdir "$1" "$work/f.jaxpr" 2>&1)
    [ "$got" = 6 ] || fail "$2: the program says '$got' for 6"
}

export PKG_CONFIG_PATH="$libdir/pkgconfig"
command -v pkg-config > /dev/null || { echo "skipped: no pkg-config"; exit 77; }
# shellcheck disable=SC2046 # words
"$cc" "$work/user.c" -o "$work/shared" $(pkg-config --cflags --libs kiln) || fail "does not link, shared"
tries "$work/shared" shared
# shellcheck disable=SC2046
"$cc" "$work/user.c" -o "$work/static" $(pkg-config --cflags kiln) "$libdir/libkiln.a" $(pkg-config --static --libs kiln | sed 's/-lkiln\b//') ||
    fail "does not link, static"
tries "$work/static" static

cat > "$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(kiln 0.1 REQUIRED)
add_executable(by-cmake user.c)
target_link_libraries(by-cmake PRIVATE kiln::kiln)
add_executable(by-cmake-static user.c)
target_link_libraries(by-cmake-static PRIVATE kiln::static)
END
{ cmake -S "$work" -B "$work/b" -DCMAKE_PREFIX_PATH="$work/usr" -DCMAKE_C_COMPILER="$cc" && cmake --build "$work/b"; } > "$work/log" 2>&1 || { cat "$work/log"; fail "CMake does not find it"; }
tries "$work/b/by-cmake" "CMake, shared"
tries "$work/b/by-cmake-static" "CMake, static"
"$work/usr/bin/kiln" --version > /dev/null || fail "the installed command does not run"
echo "installed and used four ways"
