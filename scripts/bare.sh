#!/bin/sh
# The README's two commands on a bare Debian 13, with the compilers of that distribution: clone, make
# demo, and wrong input. Prints how long each takes. Leaves nothing but the file system of scripts/root.sh.
#
# bare.sh [SUITE]: trixie unless set.
set -eu
cd "$(dirname "$0")/.."
# A worktree's history is elsewhere.
git=$(cd "$(git rev-parse --git-common-dir)" && pwd)
commit=$(git rev-parse HEAD)
{
    echo "commit=$commit"
    cat <<'SCRIPT'
step() { printf '%4s s  %s\n' "$(($(date +%s) - start))" "$1"; }
start=$(date +%s)
apt-get -qq update
apt-get -qq install -y --no-install-recommends git make ca-certificates >/dev/null 2>&1
step "git, make and certificates are installed"
cd /root
git config --global --add safe.directory '*'
git clone --quiet /git l4s && cd l4s && git checkout --quiet "$commit"
step "cloned"
make demo >/root/demo.log 2>&1 || { tail -n 40 /root/demo.log && exit 1; }
step "make demo"
grep -v -e Compiling -e Download /root/demo.log
test -s out/demo/report.html
cargo --version
test "$(command -v cargo)" = /usr/bin/cargo
for command in rustup node; do
    if command -v $command; then exit 1; fi
done
status=0
target/release/l4s run one-against-one --set link.rat=40mbit --out out/wrong 2>wrong || status=$?
cat wrong
test "$status" = 2
test ! -e out/wrong
grep -q '`rate`' wrong
step "wrong input is refused"
make build
target/release/l4s --version | grep 'BPF programs by'
step "make build"
SCRIPT
} | scripts/root.sh "${1:-trixie}" "$git:/git"
