# Flags and target kinds that every part of libhbbp shares.

add_library(hbbp_flags INTERFACE)
target_compile_options(hbbp_flags INTERFACE
  -Wall -Wextra -Wshadow -Wcast-align -Wimplicit-fallthrough -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # g++ 12 warns of std::string's own copies (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<BOOL:${HBBP_WARNINGS_AS_ERRORS}>:-Werror>
  $<$<COMPILE_LANGUAGE:C>:-Wpedantic>)
target_compile_options(hbbp_flags INTERFACE -ffunction-sections -fdata-sections)
target_link_options(hbbp_flags INTERFACE -Wl,--gc-sections)

if(HBBP_SANITIZE)
  target_compile_options(hbbp_flags INTERFACE
    -fsanitize=${HBBP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # g++ 12 warns of <regex> when it instruments it (GCC bug 105562).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized>)
  target_link_options(hbbp_flags INTERFACE -fsanitize=${HBBP_SANITIZE})
endif()

# What libFuzzer steers by. Its main function comes only with the fuzzers.
if(HBBP_BUILD_FUZZERS)
  target_compile_options(hbbp_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(hbbp_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# hbbp_sources(VARIABLE TARGET [DIRECTORY]): what sources.txt of DIRECTORY, else of the current one, names
# under TARGET, as full paths.
function(hbbp_sources variable target)
  set(directory ${CMAKE_CURRENT_SOURCE_DIR})
  if(ARGC GREATER 2)
    set(directory ${ARGV2})
  endif()
  set(list "${directory}/sources.txt")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(READ "${list}" text)
  string(REPLACE "\n  " ";" text "${text}")
  string(REGEX MATCH "\n${target}:;([^\n]*)" found "${text}")
  if(NOT found)
    message(FATAL_ERROR "${list} has no sources of ${target}")
  endif()
  list(TRANSFORM CMAKE_MATCH_1 PREPEND "${directory}/" OUTPUT_VARIABLE sources)
  set(${variable} "${sources}" PARENT_SCOPE)
endfunction()

# hbbp_component(NAME LIBS other ...): a part of lib/, as a static library whose objects also go into
# libhbbp.
function(hbbp_component name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  hbbp_sources(sources ${name})
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${name} PRIVATE HBBP_BUILDING_LIBRARY)
  target_link_libraries(${name} PUBLIC ${ARG_LIBS} PRIVATE hbbp_flags)
endfunction()

# hbbp_link_by_map(LIBRARY MAP): it exports what MAP lists, stays loaded, and is bound when it is loaded: nothing
# may be left to bind in a signal handler.
function(hbbp_link_by_map library map)
  target_link_options(${library} PRIVATE
    -Wl,--version-script=${map}
    -Wl,-z,nodelete
    -Wl,-z,now)
  if(NOT HBBP_SANITIZE) # whose symbols the program has
    target_link_options(${library} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${library} PROPERTIES LINK_DEPENDS ${map})
endfunction()

# hbbp_link_self_contained(LIBRARY): with the C++ library inside, whose names it hides.
function(hbbp_link_self_contained library)
  target_link_options(${library} PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
endfunction()

# hbbp_link_closure(COMPONENTS EXTERNALS LIB ...): the components that LIBs consist of, and the
# libraries of others that these use.
function(hbbp_link_closure components_variable externals_variable)
  set(waiting ${ARGN})
  set(components "")
  set(externals "")
  while(waiting)
    list(POP_FRONT waiting lib)
    if(lib STREQUAL "hbbp_flags" OR lib IN_LIST components OR lib IN_LIST externals)
      continue()
    endif()
    get_target_property(is_imported ${lib} IMPORTED)
    if(is_imported)
      list(APPEND externals ${lib})
    else()
      list(APPEND components ${lib})
      get_target_property(libs ${lib} LINK_LIBRARIES)
      list(APPEND waiting ${libs})
    endif()
  endwhile()
  set(${components_variable} ${components} PARENT_SCOPE)
  set(${externals_variable} ${externals} PARENT_SCOPE)
endfunction()
