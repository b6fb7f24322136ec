# Compiler settings of all our own code.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# A broken invariant must stop a server rather than damage a copy: asserts stay on in every build.
foreach(type RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${type} "${CMAKE_C_FLAGS_${type}}")
endforeach()

option(NFS4R_WERROR "treat warnings as errors" ON)
option(NFS4R_COVERAGE "count how often each line runs (make coverage)" OFF)
option(NFS4R_REHEARSAL "speak the next protocol, too, which no release speaks: for tests of an upgrade" OFF)

add_compile_definitions(_GNU_SOURCE=1 _FILE_OFFSET_BITS=64)
if(NFS4R_REHEARSAL)
  add_compile_definitions(NFS4R_REHEARSAL=1)
endif()
add_compile_options(
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wpointer-arith -Wvla -Wundef -Wimplicit-fallthrough -Wformat=2 -Wwrite-strings
  -Wno-unused-parameter -Wno-sign-compare -fno-common)
if(NFS4R_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  # The macros of uthash say in comments that they fall through, and clang reads none. gcc checks it everywhere.
  add_compile_options(-Wno-implicit-fallthrough)
endif()

if(NFS4R_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(NFS4R_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(NFS4R_SANITIZE STREQUAL "fuzzer")
  set(sanitize -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all)
elseif(NFS4R_SANITIZE)
  message(FATAL_ERROR "NFS4R_SANITIZE is empty, address, thread or fuzzer, not '${NFS4R_SANITIZE}'")
endif()
if(NFS4R_SANITIZE STREQUAL "fuzzer")
  # clang; the warnings that count are gcc's, in the other builds.
  add_compile_options(${sanitize} -fno-omit-frame-pointer -Wno-error -Wno-unknown-warning-option)
  add_link_options(${sanitize})
elseif(NFS4R_SANITIZE)
  # With the sanitizers' code in between, gcc's flow analysis warns of what cannot happen; the release
  # build keeps these warnings.
  add_compile_options(${sanitize} -fno-omit-frame-pointer -Wno-restrict -Wno-maybe-uninitialized
    -Wno-format-truncation -Wno-stringop-overflow -Wno-stringop-truncation)
  add_link_options(${sanitize})
else()
  add_compile_options(-fstack-protector-strong)
  # Only the module is linked with the optimiser (FSAL_REPL/CMakeLists.txt); for every test's program that would take seconds.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_link_options($<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>>:-fno-lto>)
  endif()
endif()

if(NFS4R_COVERAGE)
  # Atomic: the engine's threads count, too.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

include_directories(${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/protocol)
