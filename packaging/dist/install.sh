#!/bin/sh
# Installs Chandler from a release, for the user who runs it; root is not needed:
#     curl -fsSL "$CHANDLER_RELEASE/install.sh" | sh
# CHANDLER_RELEASE is the address of the folder with the files of a release, or a local folder with them.
# CHANDLER_PREFIX is where it is installed: by default ~/.local.
set -eu

# The release that this file belongs to. It is set when the release is packed.
RELEASE=''

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

# fetch NAME FILE: copies a file of the release.
fetch() {
    case "$release" in
        http://* | https://*)
            if command -v curl >/dev/null 2>&1; then
                curl --fail --silent --show-error --location --output "$2" "$release/$1"
            elif command -v wget >/dev/null 2>&1; then
                wget --quiet --output-document="$2" "$release/$1"
            else
                fail "neither curl nor wget is installed"
            fi
            ;;
        *) cp "$release/$1" "$2" ;;
    esac || fail "cannot get $release/$1"
}

# place MODE FILE TARGET: replaces a file atomically, also if it is a program that runs.
place() {
    mkdir -p "${3%/*}"
    cp "$2" "$3.new$$"
    chmod "$1" "$3.new$$"
    mv -f "$3.new$$" "$3"
}

main() {
    release=${CHANDLER_RELEASE:-$RELEASE}
    release=${release%/}
    [ -n "$release" ] || fail "set CHANDLER_RELEASE to the address of a release"
    prefix=${CHANDLER_PREFIX:-${HOME:?}/.local}
    system=$(uname -s) machine=$(uname -m)
    [ "$system" = Linux ] || fail "there are packages for Linux only, and this is $system: build it from source"

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    fetch SHA256SUMS "$work/SHA256SUMS"
    line=$(grep -E "^[0-9a-f]{64}  chandler-[0-9A-Za-z.+-]*-linux-$machine\.tar\.gz\$" "$work/SHA256SUMS" || true)
    case "$line" in
        '') fail "$release has no package for $machine: build it from source" ;;
        *"
"*) fail "$release has several packages for $machine" ;;
    esac
    package=${line#*  }
    fetch "$package" "$work/$package"
    (cd "$work" && printf '%s\n' "$line" | sha256sum --check --strict --status) ||
        fail "the checksum of $package is wrong: it is damaged, or not the file of the release"
    tar -xzf "$work/$package" -C "$work"
    from=$work/${package%.tar.gz}

    # The program is tried before it replaces an older one.
    version=$("$from/chandler" --version 2>"$work/said") || {
        if [ "$machine" = x86_64 ] && [ -r /proc/cpuinfo ] && ! grep -qw avx2 /proc/cpuinfo; then
            fail "this processor has no AVX2: build it from source with CPU=x86-64"
        fi
        fail "$package does not run on this system: $(head -n 1 "$work/said")"
    }
    place 755 "$from/chandler" "$prefix/bin/chandler"
    for page in "$from"/man/man1/*; do place 644 "$page" "$prefix/share/man/man1/${page##*/}"; done
    place 644 "$from/completions/chandler.bash" "$prefix/share/bash-completion/completions/chandler"
    place 644 "$from/completions/chandler.zsh" "$prefix/share/zsh/site-functions/_chandler"
    place 644 "$from/completions/chandler.fish" "$prefix/share/fish/vendor_completions.d/chandler.fish"
    echo "$version is installed: $prefix/bin/chandler"
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) echo "$prefix/bin is not in PATH: call it by its path, or add the folder to PATH" ;;
    esac
}

# At the end, so that nothing is executed if the download of this file was interrupted.
main
