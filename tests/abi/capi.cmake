# Programs that use the library as an installed one: by its public headers and nothing else.
function(hbbp_abi_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE hbbp::hbbp Threads::Threads m hbbp_flags)
  target_compile_options(${name} PRIVATE -Wpedantic)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17)
  add_test(NAME "abi: ${name}" COMMAND ${name}
    ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/profile_file/file_of_streams)
  set_tests_properties("abi: ${name}" PROPERTIES
    LABELS abi TIMEOUT 120 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
endfunction()

hbbp_abi_program(capi_test capi_test.c)
hbbp_abi_program(capi_cxx_test capi_cxx_test.cc)
hbbp_abi_program(hpp_test hpp_test.cc)
hbbp_abi_program(feed_test feed_test.c)
