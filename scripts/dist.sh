#!/bin/sh
# Everything that is released, into dist/, for Linux on x86-64 and aarch64: the static command with its
# manual pages and completions (.tar.gz), Debian packages, wheels, container images (OCI archives), a
# bill of materials (CycloneDX), and the checksums of all. Dates in them are those of the commit.
#
# dist.sh [MACHINE...]: x86_64 and aarch64 unless set.
set -eu
umask 022
cd "$(dirname "$0")/.."
PATH="$PWD/target/tools/bin:$HOME/.cargo/bin:$PATH"
[ $# -gt 0 ] || set -- x86_64 aarch64
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n1)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH

rm -rf dist target/pages
scripts/wheel.sh "$@"

# The command's own description.
here=target/$(uname -m)-unknown-linux-musl/dist/l4s
[ -x "$here" ] || { echo "l4s: the pages are made by the command of this machine: name $(uname -m) too" >&2 && exit 2; }
pages=target/pages
mkdir -p $pages/completions
"$here" man $pages/man
"$here" completions bash >$pages/completions/l4s.bash
"$here" completions zsh >$pages/completions/_l4s
"$here" completions fish >$pages/completions/l4s.fish
musl=$(target/tools/bin/python -c 'import ziglang; print(ziglang.__path__[0])')/lib/libc/musl/COPYRIGHT
target/tools/bin/python scripts/licences.py "$musl" >$pages/THIRD-PARTY

target/tools/bin/python scripts/licences.py --sbom >"dist/l4s-$version.cdx.json"

# same FOLDER: every file in it has the date of the commit.
same() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

for machine; do
    command=target/$machine-unknown-linux-musl/dist/l4s
    case $machine in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac

    name=l4s-$version-$machine-linux
    tree=target/release-tree/$name
    rm -rf target/release-tree && mkdir -p "$tree"
    cp "$command" LICENSE-* CHANGELOG.md $pages/THIRD-PARTY "$tree"
    cp -r $pages/man $pages/completions "$tree"
    same "$tree"
    tar --sort=name --owner=0 --group=0 --numeric-owner -C target/release-tree -c "$name" | gzip -9n >"dist/$name.tar.gz"

    # The Debian package. The command is static, so that it depends on nothing, and suits every release.
    tree=target/release-tree/deb
    share=$tree/usr/share
    doc=$share/doc/l4s
    mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$share/man/man1" "$share/bash-completion/completions" \
        "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d" "$doc"
    cp "$command" "$tree/usr/bin/l4s"
    cp $pages/man/*.1 "$share/man/man1"
    gzip -9n "$share/man/man1"/*.1
    cp $pages/completions/l4s.bash "$share/bash-completion/completions/l4s"
    cp $pages/completions/_l4s "$share/zsh/vendor-completions/_l4s"
    cp $pages/completions/l4s.fish "$share/fish/vendor_completions.d/l4s.fish"
    gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
    {
        cat <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: l4s
Source: https://github.com/l4s/l4s

Files: *
Copyright: The l4s developers
License: Expat or Apache-2.0
TEXT
        sed 's/^$/./; s/^/ /' LICENSE-MIT
        cat <<TEXT

License: Apache-2.0
 On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.

Comment: The libraries that the command is linked with are listed, with their licences, in
 THIRD-PARTY.gz beside this file.
TEXT
    } >"$doc/copyright"
    gzip -9nc $pages/THIRD-PARTY >"$doc/THIRD-PARTY.gz"
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    cat >"$tree/DEBIAN/control" <<TEXT
Package: l4s
Version: $version
Architecture: $arch
Maintainer: The l4s developers
Installed-Size: $(du -sk --apparent-size "$tree/usr" | cut -f1)
Section: net
Priority: optional
Homepage: https://github.com/l4s/l4s
Suggests: chromium | firefox-esr | www-browser, iperf3, tshark
Description: low-latency queues (L4S): simulate, measure, install
 L4S keeps queueing delay below a millisecond. This package has the command
 l4s, which runs scenarios of flows at a bottleneck in a simulator or with
 the TCP of Linux, reports their delay, throughput and marking, and installs
 DualPI2 and TCP Prague on this machine.
TEXT
    same "$tree"
    dpkg-deb --root-owner-group -Zxz --build "$tree" "dist/l4s_${version}_$arch.deb" >/dev/null

    # A container image of the command and nothing else.
    layout=target/release-tree/oci
    doc=$layout.root/usr/share/doc/l4s
    mkdir -p "$layout.root/usr/bin" "$doc" "$layout.root/tmp" "$layout.root/work"
    cp "$command" "$layout.root/usr/bin/l4s"
    cp LICENSE-* $pages/THIRD-PARTY "$doc"
    chmod 1777 "$layout.root/tmp"
    same "$layout.root"
    date=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
    umoci init --layout "$layout"
    umoci new --image "$layout:$version"
    for part in usr tmp work; do
        umoci insert --image "$layout:$version" --history.created "$date" "$layout.root/$part" "/$part" >/dev/null
    done
    umoci config --image "$layout:$version" --created "$date" --history.created "$date" --os linux --architecture $arch \
        --config.entrypoint /usr/bin/l4s --config.cmd doctor --config.workingdir /work --config.env PATH=/usr/bin \
        --config.label org.opencontainers.image.licenses="MIT OR Apache-2.0"
    skopeo copy --quiet "oci:$layout:$version" "oci-archive:dist/l4s-$version-$machine.oci.tar:l4s:$version"
done
rm -rf target/release-tree

(cd dist && sha256sum -- * >SHA256SUMS)
ls -l dist
