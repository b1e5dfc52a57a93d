# What .ci/run and .ci/full share; both source it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# One build of each kind, and no history of builds to keep; without line tables it links faster.
export CARGO_INCREMENTAL=0 CARGO_TERM_PROGRESS_WHEN=never CARGO_PROFILE_DEV_DEBUG=0
# Units more than processors only compile what is generic again.
export CARGO_PROFILE_DEV_CODEGEN_UNITS=2
unset CARGO_TARGET_DIR
mkdir -p target

# Prints a heading, runs the rest, and prints how long that took.
step() {
    local heading=$1 begin=$SECONDS before
    shift
    printf '\n=== %s\n' "$heading"
    processor_time
    before=$processor_time
    "$@"
    processor_time
    printf -- '--- %s: %d s, %d s of processors\n' "$heading" $((SECONDS - begin)) \
        $(((processor_time - before) / $(getconf CLK_TCK)))
}

# Sets `processor_time` to the ticks that ended children of this shell have computed.
processor_time() {
    local fields
    read -ra fields <"/proc/$BASHPID/stat"
    processor_time=$((fields[15] + fields[16]))
}

# Installs the packages of those of "PROGRAM PACKAGE" pairs whose program is missing.
install() {
    local missing=() as_root=()
    while [ $# -gt 0 ]; do
        command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || missing+=("$2")
        shift 2
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update --quiet
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
}

# The library from its own manifest, so that no other crate of the workspace adds features to it.
library() {
    local command=$1
    shift
    cargo "$command" --locked --manifest-path crates/groupkey/Cargo.toml --lib --no-default-features "$@"
}
