# Programs that use the library as an installed one: by its public headers and nothing else.
set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus)

# hbbp_abi_program(NAME SOURCES a.c ... [ARGUMENTS ...] [LIBRARY hbbp-collect]); a profile, if no arguments
# are given.
function(hbbp_abi_program name)
  cmake_parse_arguments(ARG "" "LIBRARY" "SOURCES;ARGUMENTS" ${ARGN})
  if(NOT ARG_LIBRARY)
    set(ARG_LIBRARY hbbp)
  endif()
  if(NOT ARG_ARGUMENTS)
    set(ARG_ARGUMENTS ${corpus}/profile_file/file_of_streams)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE hbbp::${ARG_LIBRARY} Threads::Threads m hbbp_flags)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(${name} PRIVATE -Wpedantic)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17)
  add_test(NAME "abi: ${name}" COMMAND ${name} ${ARG_ARGUMENTS})
  set_tests_properties("abi: ${name}" PROPERTIES
    LABELS abi TIMEOUT 120 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
endfunction()

hbbp_abi_program(capi_test SOURCES capi_test.c)
hbbp_abi_program(capi_cxx_test SOURCES capi_cxx_test.cc)
hbbp_abi_program(hpp_test SOURCES hpp_test.cc)
# The same without exceptions: what fails ends the program, so that it only does what succeeds.
hbbp_abi_program(hpp_without_exceptions_test SOURCES hpp_test.cc)
target_compile_options(hpp_without_exceptions_test PRIVATE -fno-exceptions)
# Programs of -DHBBP_DISABLE, which link no library.
foreach(name disabled_test.c disabled_cxx_test.cc)
  get_filename_component(target ${name} NAME_WE)
  add_executable(${target} ${name})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE hbbp_flags)
  target_compile_options(${target} PRIVATE -Wpedantic)
  target_compile_definitions(${target} PRIVATE HBBP_DISABLE)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17)
  add_test(NAME "abi: ${target}" COMMAND ${target})
  set_tests_properties("abi: ${target}" PROPERTIES LABELS abi)
endforeach()
hbbp_abi_program(disabled_hpp_test SOURCES disabled_hpp_test.cc disabled_hpp_other.cc)
set_source_files_properties(disabled_hpp_test.cc PROPERTIES COMPILE_DEFINITIONS HBBP_DISABLE)

hbbp_abi_program(default_source_test SOURCES default_source_test.cc)
target_compile_options(default_source_test PRIVATE -O0) # as the loop that it counts is to be compiled
hbbp_abi_program(descriptors_test SOURCES descriptors_test.c)
hbbp_abi_program(drained_test SOURCES drained_test.c ARGUMENTS "")
hbbp_abi_program(embedding_test SOURCES embedding_test.c)
hbbp_abi_program(feed_process_test SOURCES feed_process_test.c)
hbbp_abi_program(feed_test SOURCES feed_test.c)
hbbp_abi_program(feed_bursts_test SOURCES feed_bursts_test.c)
hbbp_abi_program(data_test SOURCES data_test.c)
hbbp_abi_program(jit_test SOURCES jit_test.c)
hbbp_abi_program(probe_test SOURCES probe_test.c)
hbbp_abi_program(old_client SOURCES old_client.c)
hbbp_abi_program(newer_client SOURCES newer_client.c)
hbbp_abi_program(restricted_host_test SOURCES restricted_host_test.c)
hbbp_abi_program(source_test SOURCES source_test.c)
hbbp_abi_program(struct_sizes_test SOURCES struct_sizes_test.c
  ARGUMENTS ${corpus}/profile_file/file_of_slices ${corpus}/perf_script/profgen)
target_compile_options(struct_sizes_test PRIVATE -g) # whose source lines it asks for
hbbp_abi_program(host_feed_test SOURCES host_feed_test.c ARGUMENTS ${CMAKE_CURRENT_BINARY_DIR})
target_compile_options(host_feed_test PRIVATE -g) # whose source lines it asks for
hbbp_abi_program(profile_call_test SOURCES profile_call_test.cc)
hbbp_abi_program(host_test SOURCES host_test.c)
# Hundreds of sessions.
set_tests_properties("abi: host_test" PROPERTIES TIMEOUT 300)

set(collected ${CMAKE_CURRENT_BINARY_DIR}/collected.hbbp)
hbbp_abi_program(agent_test SOURCES agent_test.c ARGUMENTS ${collected} LIBRARY hbbp-collect)
hbbp_abi_program(agent_profile_test SOURCES agent_profile_test.c ARGUMENTS ${collected})
set_tests_properties("abi: agent_test" PROPERTIES FIXTURES_SETUP agent_profile)
set_tests_properties("abi: agent_profile_test" PROPERTIES FIXTURES_REQUIRED agent_profile)
