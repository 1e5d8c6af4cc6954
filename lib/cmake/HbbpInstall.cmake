# What `cmake --install` copies of libhbbp itself; the command and the preload library have their
# rules beside their targets. Reads `externals`, the libraries that hbbp_static needs.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hbbp)

install(TARGETS hbbp EXPORT hbbpTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hbbp)
install(EXPORT hbbpTargets NAMESPACE hbbp:: DESTINATION ${package_dir})

# An export set of its own: who links the shared library needs none of `externals`.
install(TARGETS hbbp_static EXPORT hbbpStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT hbbpStaticTargets NAMESPACE hbbp:: DESTINATION ${package_dir})

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/hbbpConfig.cmake.in ${PROJECT_BINARY_DIR}/hbbpConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/hbbpConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/hbbpConfig.cmake ${PROJECT_BINARY_DIR}/hbbpConfigVersion.cmake
  DESTINATION ${package_dir})

set(requires_private "")
set(libs_private "")
foreach(external IN LISTS externals)
  if(external MATCHES "^absl::(.+)$")
    list(APPEND requires_private "absl_${CMAKE_MATCH_1}")
  elseif(external MATCHES "^PkgConfig::(.+)$")
    list(APPEND requires_private ${${CMAKE_MATCH_1}_MODULE_NAME})
  elseif(external STREQUAL "Zydis::Zydis")
    list(APPEND libs_private -lZydis -lZycore)
  elseif(external STREQUAL "Threads::Threads")
    list(APPEND libs_private -pthread)
  else()
    message(FATAL_ERROR "HbbpInstall.cmake: what is ${external} for pkg-config?")
  endif()
endforeach()
# A program that `cc` links has no C++ library yet.
set(cxx_libs ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM cxx_libs ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
list(TRANSFORM cxx_libs PREPEND "-l")
list(APPEND libs_private ${cxx_libs})
list(SORT requires_private)
list(JOIN requires_private ", " HBBP_PC_REQUIRES_PRIVATE)
list(JOIN libs_private " " HBBP_PC_LIBS_PRIVATE)
# Relative, so that the prefix may be chosen when installing.
file(RELATIVE_PATH HBBP_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" HBBP_PC_PREFIX "${HBBP_PC_PREFIX}")
file(RELATIVE_PATH HBBP_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH HBBP_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/hbbp.pc.in ${PROJECT_BINARY_DIR}/hbbp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hbbp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
