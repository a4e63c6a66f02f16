# SPDX-License-Identifier: Apache-2.0
#
# Third-party libraries, all from the distribution's packages: tools/install-packages installs them.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(snappy REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)

if(NOT LASTWORD_CORE_ONLY)
  find_package(CLI11 REQUIRED)
  find_path(LASTWORD_ASIO_INCLUDE asio.hpp REQUIRED)

  # Asio is compiled once here instead of in every file that includes it.
  add_library(asio STATIC "${PROJECT_SOURCE_DIR}/cmake/asio_library.cpp")
  target_include_directories(asio SYSTEM PUBLIC "${LASTWORD_ASIO_INCLUDE}")
  # Whether Asio sees aligned_alloc depends on what a file includes before it; one answer for all,
  # or memory is taken in one way and given back in another.
  target_compile_definitions(asio PUBLIC ASIO_STANDALONE ASIO_SEPARATE_COMPILATION
    ASIO_NO_DEPRECATED ASIO_DISABLE_STD_ALIGNED_ALLOC)
  target_link_libraries(asio PUBLIC Threads::Threads)
endif()

if(LASTWORD_TESTS OR LASTWORD_FUZZERS)
  find_package(GTest REQUIRED)
elseif(LASTWORD_BENCH)
  find_package(GTest QUIET)
endif()
if(LASTWORD_BENCH)
  find_package(benchmark QUIET)
endif()
if(LASTWORD_TESTS OR LASTWORD_BENCH)
  pkg_check_modules(rdkafka QUIET IMPORTED_TARGET rdkafka++ rdkafka)
endif()
