# What `cmake --install` copies of the libraries; the command and the preload library have their rules
# beside their targets. Reads `externals` and `collect_externals`, the libraries that hbbp_static and
# hbbp-collect_static need. The components library, collect, development and tools become packages of their
# own (HbbpPackages.cmake).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hbbp)

install(TARGETS hbbp EXPORT hbbpTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hbbp COMPONENT development)
install(EXPORT hbbpTargets NAMESPACE hbbp:: DESTINATION ${package_dir} COMPONENT development)

# Export sets of their own: who links the shared library needs none of `externals`, nor the package of
# libhbbp-collect.
install(TARGETS hbbp_static EXPORT hbbpStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT hbbpStaticTargets NAMESPACE hbbp:: DESTINATION ${package_dir} COMPONENT development)
install(TARGETS hbbp-collect hbbp-collect_static EXPORT hbbpCollectTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT collect NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT hbbpCollectTargets NAMESPACE hbbp:: DESTINATION ${package_dir} COMPONENT development)

# hbbp_install_pc(NAME DESCRIPTION EXTERNAL ...): NAME.pc, and in HBBP_PC_LIBS_PRIVATE what libNAME.a needs, in
# an order that static linkers take: what others need comes after them. Not as Requires.private, which asks
# programs that link the shared library for these packages too.
function(hbbp_install_pc name description)
  set(modules "")
  set(other_libs "")
  foreach(external IN LISTS ARGN)
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
  set(module_libs "")
  if(modules)
    list(SORT modules)
    execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs ${modules}
      OUTPUT_VARIABLE module_libs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  endif()
  # A program that `cc` links has no C++ library yet.
  set(cxx_libs ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
  list(REMOVE_ITEM cxx_libs ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
  list(TRANSFORM cxx_libs PREPEND "-l")
  list(JOIN other_libs " " other_libs)
  list(JOIN cxx_libs " " cxx_libs)
  string(STRIP "${module_libs} ${other_libs} ${cxx_libs}" HBBP_PC_LIBS_PRIVATE)
  set(HBBP_PC_NAME ${name})
  set(HBBP_PC_DESCRIPTION "${description}")
  # Relative, so that the prefix may be chosen when installing.
  file(RELATIVE_PATH HBBP_PC_PREFIX
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" HBBP_PC_PREFIX "${HBBP_PC_PREFIX}")
  file(RELATIVE_PATH HBBP_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
  file(RELATIVE_PATH HBBP_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(${PROJECT_SOURCE_DIR}/lib/cmake/hbbp.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  set(HBBP_PC_LIBS_PRIVATE "${HBBP_PC_LIBS_PRIVATE}" PARENT_SCOPE)
endfunction()

hbbp_install_pc(hbbp-collect "Collects profiles of libhbbp, which are analysed elsewhere" ${collect_externals})
hbbp_install_pc(hbbp "${PROJECT_DESCRIPTION}" ${externals}) # the last one: hbbpConfig.cmake has what libhbbp.a needs

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/hbbpConfig.cmake.in ${PROJECT_BINARY_DIR}/hbbpConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/hbbpConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/hbbpConfig.cmake ${PROJECT_BINARY_DIR}/hbbpConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# hbbp_install_documents(DESTINATION OPTION...): laid out as in the source, so that links work.
function(hbbp_install_documents destination)
  install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${destination} ${ARGN})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${destination} ${ARGN}
    FILES_MATCHING REGEX "\\.(md|png|svg)$" PATTERN man EXCLUDE PATTERN api EXCLUDE)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${destination} ${ARGN}
    FILES_MATCHING REGEX "\\.(md|c|h|cc|py|sh|yml)$|limits\\.txt$" PATTERN __pycache__ EXCLUDE)
endfunction()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
hbbp_install_documents(${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
