# What build.sh and vm.sh have in common: words, tools, and packages of Debian. To be sourced.
# shellcheck shell=sh

# Debian keeps a version until the next one; its archive of snapshots keeps all of them.
ARCHIVES="http://deb.debian.org/debian http://snapshot.debian.org/archive/debian/20261121T000000Z"

# The source of the kernel, which both build from.
SERIES=${VERSION%.*}
SOURCE=linux-source-$SERIES
PACKAGE_VERSION=$VERSION-1~bpo13+1
SOURCE_SHA256=703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3

say() { echo "l4s: $*"; }
fail() { echo "l4s: $*" >&2; exit 3; }

# need WHAT TOOLS PACKAGES: installs the packages where one of the tools is missing.
need() {
    missing=
    for tool in $2; do
        command -v "$tool" >/dev/null || missing="$missing $tool"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null ||
        fail "this needs$missing, and what it builds on comes from Debian: this machine has no apt-get"
    say "installing $1:$missing"
    as_root=
    if [ "$(id -u)" != 0 ]; then
        # On a terminal sudo may ask for its password.
        sudo -n true 2>/dev/null || { command -v sudo >/dev/null && [ -t 0 ]; } ||
            fail "this needs$missing: install $3 as root, and run this again"
        as_root=sudo
    fi
    # Another apt may be at work.
    apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600"
    $apt update >/dev/null
    # shellcheck disable=SC2086 # a list
    $apt install -y --no-install-recommends $3 >/dev/null
}

# free FOLDER: MB that are free there.
free() { df -Pk "$1" | awk 'NR == 2 { print int($4 / 1024) }'; }

# broken WHAT: the end of the log in $WORK, and what may be the reason.
broken() {
    tail -n 20 "$WORK/log" >&2
    fail "$1 failed, with $(free "$WORK") MB free: $WORK/log has more"
}

# whole FILE SHA256
whole() { [ "$(sha256sum "$1" 2>/dev/null | cut -d' ' -f1)" = "$2" ]; }

# fetch SUITE PACKAGE VERSION SHA256: to $WORK/PACKAGE.deb, by an apt of its own. Of the machine's
# it has the keys of Debian, and the proxy.
fetch() {
    deb=$WORK/$2.deb
    ! whole "$deb" "$4" || return 0
    # The pinned hash says that it is the package. The signature is checked where the keys are.
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    if [ -r $keys ]; then trust="signed-by=$keys"; else trust="trusted=yes"; fi
    for archive in $ARCHIVES; do
        say "fetching $2 $3 from $archive"
        if own_apt "$1" "$archive" "$trust" "$2=$3"; then
            mv "$WORK/apt/archives/"*.deb "$deb"
            whole "$deb" "$4" && return 0
            say "that package has another hash than expected: $4"
        fi
    done
    fail "$2 $3 cannot be had from: $ARCHIVES"
}

# own_apt SUITE ARCHIVE TRUST WHAT: one package to $WORK/apt/archives. The lists of a suite are
# fetched once for all packages of it.
own_apt() {
    apt=$WORK/apt
    entry="deb [arch=amd64 $3 check-valid-until=no] $2 $1 main"
    what=$4
    set -- -qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/parts" \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$apt/parts" \
        -o Dir::State="$apt" -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" \
        -o Dir::Cache="$apt" -o Dir::Cache::Archives="$apt/archives" -o APT::Sandbox::User=root \
        -o APT::Architecture=amd64 -o Acquire::Languages=none -o APT::Update::Error-Mode=any
    if [ "$(cat "$apt/listed" 2>/dev/null)" != "$entry" ]; then
        rm -rf "$apt"
        mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
        : > "$apt/status"
        echo "$entry" > "$apt/sources.list"
        apt-get "$@" update || return 1
        echo "$entry" > "$apt/listed"
    fi
    rm -f "$apt/archives/"*.deb
    (cd "$apt/archives" && apt-get "$@" download "$what")
}

# fetch_source: the source of the kernel, as a package.
fetch_source() { fetch trixie-backports "$SOURCE" "$PACKAGE_VERSION" "$SOURCE_SHA256"; }

# unpack_source [PATTERN...]: to $WORK/$SOURCE, all of it or what matches.
unpack_source() {
    say "unpacking"
    rm -rf "${WORK:?}/$SOURCE"
    { dpkg-deb --fsys-tarfile "$WORK/$SOURCE.deb" | tar -xO --wildcards "*/$SOURCE.tar.xz" |
        tar -xJ -C "$WORK" --wildcards "$@"; } 2>"$WORK/log" || broken "unpacking"
}
