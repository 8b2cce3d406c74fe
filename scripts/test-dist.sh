#!/bin/sh
# Installs and uses the packages of `make dist` as users would: on bare Debians without a compiler, which
# scripts/root.sh makes. Needs root.
#
# test-dist.sh [PART SUITE]: static, deb, wheel, musl or image, on a suite of scripts/root.sh; all of them unless set.
set -eu
cd "$(dirname "$0")/.."
[ -e dist/SHA256SUMS ] || { echo "l4s: there is no dist/SHA256SUMS: \`make dist\` makes it" >&2 && exit 2; }
(cd dist && sha256sum --check --quiet SHA256SUMS)
folder=$PWD/dist
machine() { case $1 in *-arm64) echo aarch64 ;; *) echo x86_64 ;; esac }

# in_root SUITE [FOLDER:PLACE]...: the script from standard input, after the common part.
in_root() {
    suite=$1 && shift
    {
        cat <<'SCRIPT'
# no COMMAND...: it must fail.
no() {
    if "$@"; then echo "unexpected: $*" >&2 && exit 1; fi
}
no command -v cc
no command -v ld
no command -v cargo
# Runs a scenario, and input that is wrong.
try() {
    "$1" --version
    "$1" run one-against-one --out /root/out --replace --json >/root/run.jsonl
    test -s /root/out/report.html
    test -s /root/out/runs.parquet
    # All of the result but how long it took.
    sed 's/"wall_s":[^,}]*//' /root/run.jsonl | sha256sum
    status=0
    "$1" run one-against-one --set link.rat=40mbit --out /root/wrong 2>/root/said || status=$?
    test "$status" = 2
    test ! -e /root/wrong
    grep -q '`rate`' /root/said
    # The kernel of --on linux is no part of a package: the message says how to get it.
    status=0
    "$1" run one-against-one --on linux 2>/root/said || status=$?
    test "$status" = 3
    grep -q 'make linux' /root/said
    "$1" doctor >/root/doctor
    no grep 'built without' /root/doctor
}
# The module has the numbers of the command that ran before, and refuses wrong input.
module() {
    "$1" - <<'PYTHON'
import json
import l4s

run = l4s.Scenario("one-against-one").runs[0]
result = l4s.run(run)
print(result)
theirs = json.loads(open("/root/run.jsonl").readline())
mine = result.summary
assert mine["queues"] == theirs["queues"] and mine["groups"] == theirs["groups"]
try:
    l4s.Scenario("one-against-one").with_(**{"link.rat": "1mbit"})
except Exception as error:
    assert "rate" in str(error), error
else:
    raise SystemExit("wrong input was taken")
PYTHON
}
SCRIPT
        cat
    } | scripts/root.sh "$suite" "$folder:/dist" "$@"
}

static() {
    in_root "$1" <<'SCRIPT'
cd /root
tar -xzf /dist/l4s-*-"$(uname -m)"-linux.tar.gz
cd l4s-*
no ldd ./l4s
try ./l4s
for file in man/l4s-run.1 completions/_l4s LICENSE-MIT THIRD-PARTY; do test -s $file; done
SCRIPT
}

deb() {
    in_root "$1" <<'SCRIPT'
list() { find / -xdev -path /root -prune -o -path /proc -prune -o -path /tmp -prune -o -type f -print | sort; }
apt-get -qq update
apt-get -qq install -y --no-install-recommends man-db bash-completion >/dev/null 2>&1
list >/root/before
apt-get -qq install -y --no-install-recommends /dist/l4s_*_"$(dpkg --print-architecture)".deb >/dev/null 2>&1
cd /root
try l4s
man --warnings l4s-run 2>&1 >page | tee warnings
test ! -s warnings
grep -q -e --set page
man l4s | grep -q 'l4s.run'
bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader l4s; complete -p l4s; 
    COMP_WORDS=(l4s ru) COMP_CWORD=1; _l4s l4s ru l4s; printf "%s\n" "${COMPREPLY[@]}"' | grep -qx run
grep -q Apache-2.0 /usr/share/doc/l4s/copyright
dpkg --verify l4s
apt-get -qq purge -y l4s >/dev/null
list >/root/after
# The files that apt and man-db keep of any package.
diff /root/before /root/after | grep '^[<>]' >/root/differs || true
no grep -v -e /var/cache/ -e /var/log/ -e /var/lib/dpkg/ -e /var/lib/apt/ /root/differs
echo "nothing is left"
SCRIPT
}

wheel() {
    in_root "$1" <<'SCRIPT'
apt-get -qq update
apt-get -qq install -y --no-install-recommends python3-venv >/dev/null 2>&1
no command -v cc
python3 -m venv /root/venv
cd /root
venv/bin/pip install --quiet --only-binary :all: /dist/l4s-*-manylinux*_"$(uname -m)".whl
try venv/bin/l4s
module venv/bin/python
SCRIPT
}

# Debian has no Python for musl, so this has one of its own. Debian's pip gets the packages: that of the venv would
# need TLS. They are got on this machine, as pip takes most of an hour in an emulated one.
musl() {
    machine=$(machine "$1")
    python=${L4S_ROOTS:-target/roots}/musl-python-$machine
    scripts/musl-python.sh "$machine" "$python"
    packages=$(mktemp -d)
    {
        echo "machine=$machine"
        cat <<'SCRIPT'
exec 3>&1 >&2
apt-get -qq update
apt-get -qq install -y --no-install-recommends python3-pip >/dev/null 2>&1
wheel=$(echo /dist/l4s-*-musllinux*_"$machine".whl)
python3 - "$wheel" >/root/needed <<'PYTHON'
import sys
import zipfile

wheel = zipfile.ZipFile(sys.argv[1])
metadata = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
for line in wheel.read(metadata).decode().splitlines():
    key, _, value = line.partition(": ")
    if key == "Requires-Dist" and "extra ==" not in value:
        print(value)
PYTHON
# PyPI has no matplotlib for musl on aarch64.
[ "$machine" = x86_64 ] || sed -i '/^matplotlib/d' /root/needed
get() {
    pip install --quiet --root-user-action ignore --target /root/packages --only-binary :all: --implementation cp \
        --python-version 3.13 --platform "musllinux_1_2_$machine" --platform "musllinux_1_1_$machine" "$@"
}
get --no-deps "$wheel"
# The commands of the packages are left out, with a warning.
get --quiet -r /root/needed
tar -C /root/packages -c . >&3
SCRIPT
    } | scripts/root.sh trixie "$folder:/dist" | tar -x -C "$packages"
    in_root "$1" "$python:/opt/python" "$packages:/packages" <<'SCRIPT'
apt-get -qq update
apt-get -qq install -y --no-install-recommends musl >/dev/null 2>&1
no command -v cc
cd /root
/opt/python/bin/python3.13 -m venv --without-pip venv
packages=venv/lib/python3.13/site-packages
cp -r /packages/. $packages
try $packages/bin/l4s
module venv/bin/python
SCRIPT
    rm -rf "$packages"
}

image() {
    machine=$(machine "$1")
    for archive in dist/*-"$machine".oci.tar; do
        work=$(mktemp -d)
        name=$(basename "$archive" "-$machine.oci.tar")
        skopeo copy --quiet "oci-archive:$archive" "oci:$work/layout:$name"
        umoci unpack --image "$work/layout:$name" "$work/bundle" 2>/dev/null
        grep -q '"/usr/bin/l4s"' "$work/bundle/config.json"
        in_root "$1" "$work/bundle/rootfs:/image" <<'SCRIPT'
cp -a /image /root/image
cd /root
mkdir -p image/dev image/proc image/root
# Its folders, as `try` looks for them.
ln -s image/root/out image/root/wrong .
printf '%s\n' '#!/bin/sh' 'exec chroot /root/image /usr/bin/l4s "$@"' >/usr/local/bin/in-image
chmod +x /usr/local/bin/in-image
try in-image
SCRIPT
        rm -rf "$work"
    done
}

step() { printf '%5s s  %s\n' "$(($(date +%s) - start))" "$*"; }
start=$(date +%s)
try_part() {
    "$1" "$2"
    step "$1 on $2"
}
case "$#,${1:-}" in
0,)
    for suite in bookworm trixie trixie-arm64; do
        for part in static deb wheel; do try_part "$part" "$suite"; done
    done
    for suite in trixie trixie-arm64; do
        for part in musl image; do try_part "$part" "$suite"; done
    done
    ;;
2,static | 2,deb | 2,wheel | 2,musl | 2,image) try_part "$1" "$2" ;;
*) echo "l4s: expected a part (static, deb, wheel, musl, image) and a suite, or nothing" >&2 && exit 2 ;;
esac
