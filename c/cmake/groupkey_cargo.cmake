# Builds the library with cargo, whenever its sources have changed.
#
#   groupkey_cargo(<Rust target> <features, by commas>)
#
# makes the target `groupkey_cargo`, and sets GROUPKEY_INCLUDE and GROUPKEY_ARCHIVE. The builds go to
# the folder GROUPKEY_TARGET_DIR, which is one of the build's own unless it is set.

set(GROUPKEY_C "${CMAKE_CURRENT_LIST_DIR}/..")

function(groupkey_cargo target features)
    find_program(GROUPKEY_CARGO cargo)
    if(NOT GROUPKEY_CARGO)
        message(FATAL_ERROR "groupkey: cargo is not installed: see https://rustup.rs")
    endif()
    if(NOT GROUPKEY_TARGET_DIR)
        set(GROUPKEY_TARGET_DIR "${CMAKE_CURRENT_BINARY_DIR}/cargo")
    endif()
    get_filename_component(c "${GROUPKEY_C}" REALPATH)
    set(archive "${GROUPKEY_TARGET_DIR}/${target}/release/libgroupkey_c.a")
    # An empty name is not a scheme.
    set(scheme --unset=GROUPKEY_SCHEME)
    if(CONFIG_GROUPKEY_SCHEME)
        set(scheme "GROUPKEY_SCHEME=${CONFIG_GROUPKEY_SCHEME}")
    endif()
    # cargo knows what has changed, so it is asked in each build.
    add_custom_target(groupkey_cargo
        COMMAND ${CMAKE_COMMAND} -E env ${scheme} "${GROUPKEY_CARGO}" build --locked --release --manifest-path "${c}/Cargo.toml"
            --target "${target}" --target-dir "${GROUPKEY_TARGET_DIR}"
            --no-default-features --features "${features}"
        BYPRODUCTS "${archive}"
        COMMENT "groupkey for ${target}: ${features}. If the target is missing: rustup target add ${target}"
        VERBATIM)
    set(GROUPKEY_INCLUDE "${c}/include" PARENT_SCOPE)
    set(GROUPKEY_ARCHIVE "${archive}" PARENT_SCOPE)
endfunction()

# Sets `features` to what is chosen by CONFIG_GROUPKEY_<feature>.
function(groupkey_features variable)
    set(features "")
    foreach(family CENTRALIZED HYBRID DISTRIBUTED SIGNATURES MESSAGES SUITE_STANDARD SUITE_CONSTRAINED)
        if(CONFIG_GROUPKEY_${family})
            string(TOLOWER "${family}" feature)
            string(REPLACE "_" "-" feature "${feature}")
            list(APPEND features "${feature}")
        endif()
    endforeach()
    string(REPLACE ";" "," features "${features}")
    set(${variable} "${features}" PARENT_SCOPE)
endfunction()
