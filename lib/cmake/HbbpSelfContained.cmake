# Has Zydis linked as an archive where there is one: Debian has none, scripts/static-zydis makes it, and
# CMAKE_PREFIX_PATH leads to it. libelf stays a shared library, because Debian's archive cannot go into one
# (R_X86_64_TPOFF32).
find_library(HBBP_ZYDIS_ARCHIVE libZydis.a)
if(HBBP_ZYDIS_ARCHIVE)
  get_target_property(configurations Zydis::Zydis IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_target_properties(Zydis::Zydis PROPERTIES IMPORTED_LOCATION_${configuration} ${HBBP_ZYDIS_ARCHIVE})
  endforeach()
else()
  message(STATUS "No libZydis.a: libhbbp.so needs the shared library")
endif()
