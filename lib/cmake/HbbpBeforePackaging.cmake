# Before cpack makes packages: archives without debug information, as CPACK_STRIP_FILES leaves them
# alone, and manual pages as Debian has them.
find_program(HBBP_STRIP strip REQUIRED)
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/*.a)
foreach(archive IN LISTS archives)
  execute_process(
    COMMAND ${HBBP_STRIP} --strip-debug --enable-deterministic-archives ${archive}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()

find_program(HBBP_GZIP gzip REQUIRED)
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*.[13])
list(FILTER pages INCLUDE REGEX "/man[13]/")
if(pages)
  execute_process(COMMAND ${HBBP_GZIP} -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
