# SPDX-License-Identifier: Apache-2.0
# Libraries out of Debian's packages; tools/install-dependencies names them.
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
find_library(SLEEF_LIBRARY sleef REQUIRED)
set(KILN_LIBRARIES PkgConfig::XXHASH PkgConfig::YAML PkgConfig::JANSSON PkgConfig::ZLIB ${SLEEF_LIBRARY} m dl pthread)
