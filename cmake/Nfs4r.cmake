# nfs4r_add_test(NAME <name> SOURCES <file>... [LIBS <target>...] [LABELS <label>...] [TIMEOUT <s>]
#                [ARGS <argument>...] [WAITS])
#
# A cmocka executable that ctest runs under its name. Labels decide where scripts/check.sh runs it:
#   (none)  in the asan build
#   tsan    also in the tsan build
#   sim     also in the release build, with NFS4R_SIM_LONG=1 in the environment
#   release also in the release build
#   quick   what `make quick` runs: added here to all tests in tests/unit and tests/scenario
#
# WAITS: it mostly waits, for silence, leases or time limits. scripts/check.sh lets two of these run beside each other on a processor, or one test of another kind.
function(nfs4r_add_test)
  cmake_parse_arguments(T "WAITS" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;ARGS" ${ARGN})
  if(T_UNPARSED_ARGUMENTS OR NOT T_NAME OR NOT T_SOURCES)
    message(FATAL_ERROR "nfs4r_add_test(${ARGN}): NAME and SOURCES are needed, nothing unknown")
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  if(NFS4R_SANITIZE STREQUAL "thread")
    target_sources(${T_NAME} PRIVATE ${CMAKE_SOURCE_DIR}/tests/lib/tsan_openat.c)
  endif()
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} cmocka Threads::Threads)
  # cmocka tests see private headers of the module that they test.
  target_include_directories(${T_NAME} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} ${T_ARGS})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/tests/(unit|scenario)(/|$)")
    list(APPEND T_LABELS quick)
  endif()
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}")
  nfs4r_needed_by("${T_LABELS}" ${T_NAME})
  if(NOT T_WAITS)
    set_tests_properties(${T_NAME} PROPERTIES PROCESSORS 2)
  endif()
  nfs4r_test_environment(${T_NAME})
endfunction()

# nfs4r_needed_by(<labels> <target>...): tests with these labels need these targets. Scripts that run tests of one label build its targets only (tests/CMakeLists.txt).
function(nfs4r_needed_by labels)
  foreach(label ${labels})
    set_property(GLOBAL APPEND PROPERTY nfs4r_needed_by_${label} ${ARGN})
  endforeach()
endfunction()

# nfs4r_test_environment(<test>): the sanitizers' settings, for tests made with add_test as well.
function(nfs4r_test_environment name)
  set(supp ${CMAKE_SOURCE_DIR}/cmake/tsan.supp)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0;UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:suppressions=${supp}")
endfunction()
