# Libraries from outside, as imported targets: ntirpc, lmdb, uv, urcu, jansson, nettle, openssl, gssapi, krb5, cmocka, uuid.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# nfs4r_pkg(<target> <pkg-config module>): target stays undefined when the library is missing; who
# links it then gets CMake's own clear error.
function(nfs4r_pkg target module)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(${target}_FOUND)
    add_library(${target} ALIAS PkgConfig::${target})
  else()
    message(WARNING "${module} not found; run `make deps`")
  endif()
endfunction()

nfs4r_pkg(lmdb lmdb)
nfs4r_pkg(uv libuv)
nfs4r_pkg(urcu_bp liburcu-bp)
nfs4r_pkg(urcu_cds liburcu-cds)
nfs4r_pkg(jansson jansson)
nfs4r_pkg(nettle nettle)
nfs4r_pkg(openssl openssl)
nfs4r_pkg(gssapi krb5-gssapi)
nfs4r_pkg(krb5 krb5)
nfs4r_pkg(cmocka cmocka)
nfs4r_pkg(uuid uuid)

# libntirpc comes with the pinned Ganesha. The tsan build takes the plain one too: only its XDR is used.
add_library(ntirpc SHARED IMPORTED GLOBAL)
set_target_properties(ntirpc PROPERTIES
  IMPORTED_LOCATION ${GANESHA_PREFIX}/lib/libntirpc.so
  IMPORTED_SONAME libntirpc.so.6.3
  INTERFACE_INCLUDE_DIRECTORIES ${GANESHA_PREFIX}/include/ntirpc)
if(NOT EXISTS ${GANESHA_PREFIX}/lib/libntirpc.so)
  message(FATAL_ERROR "${GANESHA_PREFIX} is missing; run `make deps` (asan: `make deps-asan`)")
endif()
