# Debian packages, by `cpack`: libhbbp0, libhbbp-collect0, libhbbp-dev, hbbp-tools and python3-hbbp, each an install
# component. What is only in packages is EXCLUDE_FROM_ALL.
set(HBBP_PACKAGE_MAINTAINER "libhbbp maintainers <maintainers@libhbbp.invalid>"
  CACHE STRING "Maintainer of the Debian packages")

set(soversion ${PROJECT_VERSION_MAJOR})
set(package_folder ${PROJECT_BINARY_DIR}/packages)
set(package_of_library libhbbp${soversion})
set(package_of_collect libhbbp-collect${soversion})
set(package_of_development libhbbp-dev)
set(package_of_tools hbbp-tools)
set(package_of_python python3-hbbp)

find_program(HBBP_GZIP gzip)
if(NOT HBBP_GZIP)
  return()
endif()
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(component library collect development tools python)
  set(package ${package_of_${component}})
  set(folder ${package_folder}/${package})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/debian_changelog.in ${folder}/changelog @ONLY)
  execute_process(COMMAND ${HBBP_GZIP} -9nf ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/debian_copyright
    DESTINATION share/doc/${package} RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${folder}/changelog.gz
    DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
hbbp_install_documents(share/doc/${package_of_development} COMPONENT development EXCLUDE_FROM_ALL)

# The Python package, with the metadata that pip looks at. Debian's Python compiles it where it is installed.
set(python_source ${PROJECT_SOURCE_DIR}/bindings/python)
set(dist_packages lib/python3/dist-packages)
set(dist_info hbbp-${PROJECT_VERSION}.dist-info)
install(DIRECTORY ${python_source}/src/hbbp DESTINATION ${dist_packages} COMPONENT python EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
if(Python3_FOUND)
  file(REMOVE_RECURSE ${package_folder}/python/${dist_info})
  file(MAKE_DIRECTORY ${package_folder}/python)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -B -c "import hbbp_backend as b; b.prepare_metadata_for_build_wheel('${package_folder}/python')"
    WORKING_DIRECTORY ${python_source} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${package_folder}/python/${dist_info}/METADATA
    DESTINATION ${dist_packages}/${dist_info} COMPONENT python EXCLUDE_FROM_ALL)
endif()
file(CONFIGURE OUTPUT ${package_folder}/python/postinst @ONLY CONTENT [[#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
  py3compile -p @package_of_python@
fi
]])
file(CONFIGURE OUTPUT ${package_folder}/python/prerm @ONLY CONTENT [[#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
  py3clean -p @package_of_python@
fi
]])
# What packages that link the library depend on.
file(WRITE ${package_folder}/shlibs
  "libhbbp ${soversion} ${package_of_library} (>= ${PROJECT_VERSION})\n")
file(WRITE ${package_folder}/collect/shlibs
  "libhbbp-collect ${soversion} ${package_of_collect} (>= ${PROJECT_VERSION})\n")
file(WRITE ${package_folder}/triggers "activate-noawait ldconfig\n")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libhbbp)
set(CPACK_PACKAGE_VENDOR libhbbp)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has one of its own
set(CPACK_PACKAGE_CONTACT ${HBBP_PACKAGE_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/HbbpBeforePackaging.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/HbbpAfterPackaging.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library collect development python)
if(HBBP_BUILD_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib/capi)

set(same_version "${package_of_library} (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${package_of_library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libdw1, libzstd1")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "libdebuginfod1, libpfm4")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  ${package_folder}/shlibs ${package_folder}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "counts how often each basic block of a program runs
libhbbp tells a program, or a profiler that links it, how many times each
basic block ran, and hence which instructions ran, with or without hardware
performance counters.

This package contains the shared library. Source lines need libdw1,
recordings and debug files that zstd compressed need libzstd1.")

set(CPACK_DEBIAN_COLLECT_PACKAGE_NAME ${package_of_collect})
set(CPACK_DEBIAN_COLLECT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_COLLECT_PACKAGE_SUGGESTS libpfm4)
set(CPACK_DEBIAN_COLLECT_PACKAGE_CONTROL_EXTRA
  ${package_folder}/collect/shlibs ${package_folder}/triggers)
set(CPACK_DEBIAN_COLLECT_DESCRIPTION "collects profiles of basic blocks and instructions
libhbbp tells a program, or a profiler that links it, how many times each
basic block ran, and hence which instructions ran, with or without hardware
performance counters.

This package contains the half that observes a program and writes profiles,
for agents that have them analysed elsewhere. It needs the C library alone.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${package_of_development})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "${same_version}, ${package_of_collect} (= ${PROJECT_VERSION})")
# Of libhbbp.a.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "libelf-dev, libzydis-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "counts basic blocks and instructions (development files)
libhbbp tells a program, or a profiler that links it, how many times each
basic block ran, and hence which instructions ran, with or without hardware
performance counters.

This package contains the headers (C11 and C++17), the static libraries, files
for pkg-config and CMake, man pages of all functions, the guide, and examples.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ${package_of_tools})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ${same_version})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "libsqlite3-0, python3-sklearn")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "profiles programs by their basic blocks and instruction mixes
The command hbbp records which instructions an unmodified program executes,
imports recordings of perf, and lists, compares and exports what ran: by
mnemonic, basic block, function, loop or source line.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME ${package_of_python})
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.8), ${same_version}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-numpy, python3-pandas")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${package_folder}/python/postinst ${package_folder}/python/prerm)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "counts basic blocks and instructions (Python 3)
libhbbp tells a program, or a profiler that links it, how many times each
basic block ran, and hence which instructions ran, with or without hardware
performance counters.

This package contains the module hbbp, which profiles the Python program that
imports it, extension modules and the interpreter alike, and reads profiles.")

# Of libraries that are where those of their architecture are.
if(CMAKE_LIBRARY_ARCHITECTURE AND CMAKE_INSTALL_LIBDIR MATCHES "/${CMAKE_LIBRARY_ARCHITECTURE}$")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_MULTIARCH same)
  set(CPACK_DEBIAN_COLLECT_PACKAGE_MULTIARCH same)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_MULTIARCH same)
endif()

include(CPack)
