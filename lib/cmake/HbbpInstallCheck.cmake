# `cmake --install` builds nothing. These are the first of its rules: they stop before any file is written if a part of
# what is to be installed was not built.
set(built_library $<TARGET_FILE:hbbp>)
set(built_collect $<TARGET_FILE:hbbp-collect>)
set(built_development $<TARGET_FILE:hbbp_static> $<TARGET_FILE:hbbp-collect_static>)
if(Python3_FOUND)
  list(APPEND built_development ${PROJECT_BINARY_DIR}/man3/hbbp.3)
endif()
set(built_tools "")
if(HBBP_BUILD_TOOLS)
  set(built_tools $<TARGET_FILE:hbbp-tool> $<TARGET_FILE:hbbp-preload> $<TARGET_FILE:hbbp-preload-swbt>)
  if(Python3_FOUND)
    list(APPEND built_tools ${PROJECT_BINARY_DIR}/man/hbbp.1 ${PROJECT_BINARY_DIR}/tools/completion/hbbp)
  endif()
endif()

foreach(component library collect development tools)
  install(CODE "
    set(files \"${built_${component}}\")
    foreach(file IN LISTS files)
      if(NOT EXISTS \"\${file}\")
        message(FATAL_ERROR \"Nothing is installed, because this was not built: \${file}. First build everything: \"
          \"cmake --build ${PROJECT_BINARY_DIR}\")
      endif()
    endforeach()" COMPONENT ${component})
endforeach()
