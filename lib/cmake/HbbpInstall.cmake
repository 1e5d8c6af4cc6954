# What `cmake --install` copies of libhbbp itself; the command and the preload library have their
# rules beside their targets. Reads `externals`, the libraries that hbbp_static needs. The components
# library, development and tools become packages of their own (HbbpPackages.cmake).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hbbp)

install(TARGETS hbbp EXPORT hbbpTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hbbp COMPONENT development)
install(FILES ${HBBP_EXPERIMENTAL_HEADERS}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hbbp/experimental COMPONENT development)
install(EXPORT hbbpTargets NAMESPACE hbbp:: DESTINATION ${package_dir} COMPONENT development)

# An export set of its own: who links the shared library needs none of `externals`.
install(TARGETS hbbp_static EXPORT hbbpStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT hbbpStaticTargets NAMESPACE hbbp:: DESTINATION ${package_dir} COMPONENT development)

# What libhbbp.a needs, in an order that static linkers take: what others need comes after them. Not as
# Requires.private, which asks programs that link the shared library for these packages too.
set(modules "")
set(other_libs "")
foreach(external IN LISTS externals)
  if(external MATCHES "^PkgConfig::(.+)$")
    list(APPEND modules ${${CMAKE_MATCH_1}_MODULE_NAME})
  elseif(external STREQUAL "Zydis::Zydis")
    list(APPEND other_libs -lZydis)
  elseif(external STREQUAL "Threads::Threads")
    list(APPEND other_libs -pthread)
  else()
    message(FATAL_ERROR "HbbpInstall.cmake: what is ${external} for pkg-config?")
  endif()
endforeach()
list(SORT modules)
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs ${modules}
  OUTPUT_VARIABLE module_libs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# A program that `cc` links has no C++ library yet.
set(cxx_libs ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM cxx_libs ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
list(TRANSFORM cxx_libs PREPEND "-l")
list(JOIN other_libs " " other_libs)
list(JOIN cxx_libs " " cxx_libs)
set(HBBP_PC_LIBS_PRIVATE "${module_libs} ${other_libs} ${cxx_libs}")
# Relative, so that the prefix may be chosen when installing.
file(RELATIVE_PATH HBBP_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" HBBP_PC_PREFIX "${HBBP_PC_PREFIX}")
file(RELATIVE_PATH HBBP_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH HBBP_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/hbbp.pc.in ${PROJECT_BINARY_DIR}/hbbp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hbbp.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/hbbpConfig.cmake.in ${PROJECT_BINARY_DIR}/hbbpConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/hbbpConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/hbbpConfig.cmake ${PROJECT_BINARY_DIR}/hbbpConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
