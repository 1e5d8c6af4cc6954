# After cpack made packages: without the scripts that it gives to libraries, which call ldconfig. dpkg
# calls it once, by the trigger. Scripts of our own stay.
find_program(HBBP_DPKG_DEB dpkg-deb REQUIRED)
set(unpacked ${CPACK_TEMPORARY_DIRECTORY}/unpacked)
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  execute_process(COMMAND ${HBBP_DPKG_DEB} --raw-extract ${package} ${unpacked}
    COMMAND_ERROR_IS_FATAL ANY)
  set(script "")
  if(EXISTS ${unpacked}/DEBIAN/postinst)
    file(READ ${unpacked}/DEBIAN/postinst script)
  endif()
  if(script MATCHES ldconfig)
    file(REMOVE ${unpacked}/DEBIAN/postinst ${unpacked}/DEBIAN/postrm)
    execute_process(
      COMMAND ${HBBP_DPKG_DEB} --root-owner-group -Zxz --build ${unpacked} ${package}
      OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(REMOVE_RECURSE ${unpacked})
endforeach()
