# SPDX-License-Identifier: Apache-2.0
#
# Language level, warnings, sanitizers and the compiler cache, for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Debug CACHE STRING "Debug or Release" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG" CACHE STRING "" FORCE)

# The oldest processors that are worth the name have SSE 4.2, which the checksum wants.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
endif()

add_library(lastword_flags INTERFACE)
target_include_directories(lastword_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(lastword_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 is wrong about these: std::string concatenation (GCC bug 105651), moved strings, and
  # optionals that live in coroutines. clang and the sanitizers watch the same things.
  target_compile_options(lastword_flags INTERFACE -Wno-restrict -Wno-stringop-overflow
    -Wno-array-bounds -Wno-maybe-uninitialized)
else()
  # g++ does not count changes of sign as conversions either.
  target_compile_options(lastword_flags INTERFACE -Wthread-safety -Wno-sign-conversion)
endif()

if(LASTWORD_SANITIZE)
  add_compile_options(-fsanitize=${LASTWORD_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LASTWORD_SANITIZE})
endif()
if(LASTWORD_SANITIZE STREQUAL "thread")
  # The thread sanitizer does not know stand-alone fences.
  add_compile_definitions(ASIO_DISABLE_FENCED_BLOCK=1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()

find_program(LASTWORD_CCACHE ccache)
if(LASTWORD_CCACHE)
  # The sloppiness is what precompiled headers need; the rest lets two build folders share results.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_NOHASHDIR=1 "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
    "${LASTWORD_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
