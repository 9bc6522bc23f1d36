# SPDX-License-Identifier: BSD-3-Clause
# The target dist: a tarball of the committed sources with the package descriptions for dpkg-buildpackage and rpmbuild, whose
# texts are those of packaging/texts.cmake.
include(packaging/texts.cmake)

# A paragraph as Debian's control files have it: each line indented by one space.
function(indented result text)
  string(REPLACE "\n" "\n " text " ${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
foreach(_name TEXT LIB_TEXT DEV_TEXT TOOLS_TEXT)
  indented(WIREUP_${_name}_INDENTED "${WIREUP_${_name}}")
endforeach()
configure_file(packaging/debian/control.in packaging/control.in @ONLY NEWLINE_STYLE UNIX)
configure_file(packaging/wireup.spec.in packaging/wireup.spec @ONLY NEWLINE_STYLE UNIX)
add_custom_target(dist
  COMMAND ${PROJECT_SOURCE_DIR}/tools/dist ${PROJECT_BINARY_DIR} ${PROJECT_VERSION} ${WIREUP_PMIX_RELEASE} VERBATIM)
