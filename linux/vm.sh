#!/bin/sh
# Gets the virtual machine of `l4s vm`: a kernel of Debian as it is, to be run by QEMU, its modules,
# and its first process. Asks nothing, changes nothing of the machine's apt, and goes on where it
# was stopped.
#
#   linux/vm.sh          Linux 7.3, and the module sch_dualpi2, which Debian does not build
#   linux/vm.sh 6.12     an older kernel, to see whether our BPF programs load there
#
# It comes to the cache: $XDG_CACHE_HOME/l4s or ~/.cache/l4s.
set -eu

HERE=$(cd "$(dirname "$0")" && pwd)
VERSION=$(cat "$HERE/version")
. "$HERE/fetch.sh"

WHICH=${1:-$SERIES}
case $WHICH in
    "$SERIES")
        RELEASE=$VERSION+deb13-amd64
        COST="300 MB to fetch, 1 GB of disk for the time being, 75 MB to stay, and two minutes" ;;
    6.12) # not the cloud flavour, which has no 9p
        RELEASE=6.12.95+deb12-amd64
        COST="110 MB to fetch, 300 MB of disk for the time being, 70 MB to stay, and a minute" ;;
    *) fail "which kernel: expected $SERIES or 6.12, found $WHICH" ;;
esac

# Modules that the machine has, folders and files: what TCP, queue disciplines and files need.
KEPT="arch/x86/crypto arch/x86/lib crypto lib net fs/9p fs/netfs fs/overlayfs fs/fscache
    drivers/firmware/qemu_fw_cfg.ko* drivers/char/hw_random/virtio-rng.ko* drivers/net/*.ko*
    drivers/net/netdevsim"
# Those that the first process loads itself, in this order, because the files come by them.
FIRST="netfs 9pnet 9pnet_virtio 9p overlay qemu_fw_cfg"

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/l4s/vm-$WHICH
WORK=$CACHE/build
PACKED=$WORK/packed

# What the machine is made of. Where it is the same, so is the machine.
print=$({
    cat "$HERE"/vm.sh "$HERE"/vm/*
    echo "$VERSION $SOURCE_SHA256"
} | sha256sum | cut -c1-16)
need "what runs a virtual machine" "qemu-system-x86_64" "qemu-system-x86"
if [ "$(cat "$CACHE/made-of" 2>/dev/null)" = "$print" ]; then
    say "the virtual machine is there: $CACHE"
    rm -rf "$WORK" # where the last run was stopped at its very end
    exit 0
fi

[ "$(uname -sm)" = "Linux x86_64" ] || fail "the virtual machine is built on Linux on x86-64 only"
need "what puts it together" "cpio xz depmod" "cpio xz-utils kmod"
say "making a virtual machine with Linux $RELEASE in $CACHE:"
say "$COST"
mkdir -p "$WORK"
[ "$(free "$WORK")" -ge 1200 ] || [ -d "$PACKED" ] ||
    fail "$(free "$WORK") MB are free there: 1200 are needed"

# unpack PACKAGE...: to $PACKED.
unpack() {
    for package in "$@"; do
        dpkg-deb -x "$WORK/$package.deb" "$PACKED" 2>"$WORK/log" || broken "unpacking $package"
    done
}

# Its first process is a shell that needs nothing of the host.
fetch trixie busybox-static "1:1.37.0-6+b9" \
    598a3fd92bdafc34cd81196b2952ad36e910e47a4ecf162f8ce5e8e262598e53
if [ "$WHICH" = "$SERIES" ]; then
    fetch trixie-backports "linux-base-$RELEASE" "$PACKAGE_VERSION" \
        5663505495b5c90be94af42105c7b28629802516779102dac48d5a00cc00fccf
    fetch trixie-backports "linux-binary-$RELEASE" "$PACKAGE_VERSION" \
        7e3248d03a84dcdda88c567aa8c4038f2e7795d2dd167b112c56f8901b6f513f
    fetch trixie-backports "linux-modules-$RELEASE" "$PACKAGE_VERSION" \
        b3ea01922c9f133767a83cf6891c19b3693858ded617bf22d1e34f95382c08ea
    fetch trixie-backports "linux-headers-$RELEASE" "$PACKAGE_VERSION" \
        1c43249a7b98aee4af60f2b822ddb04a9e96c1c9e8b013e5f74d3d9faf318699
    fetch trixie-backports "linux-headers-${RELEASE%-amd64}-common" "$PACKAGE_VERSION" \
        886647d4a7b05d2aedd22f8e16917c5b75e97e8946966d6bac48962c40b19a06
    fetch_source
    set -- busybox-static "linux-base-$RELEASE" "linux-binary-$RELEASE" \
        "linux-modules-$RELEASE" "linux-headers-$RELEASE" "linux-headers-${RELEASE%-amd64}-common"
else
    fetch bookworm-backports "linux-image-$RELEASE" "${RELEASE%+*}-1~bpo12+1" \
        5e524b782be67cb0d6a2e7b51816a2ac519e573ef7324b9a63a4124365653ecc
    set -- busybox-static "linux-image-$RELEASE"
fi
if [ ! -e "$WORK/unpacked" ]; then
    say "unpacking"
    rm -rf "$PACKED"
    unpack "$@"
    touch "$WORK/unpacked"
fi

# In newer packages /lib is /usr/lib, and the kernel is with its modules.
FROM=$PACKED/usr/lib/modules/$RELEASE
[ -d "$FROM" ] || FROM=$PACKED/lib/modules/$RELEASE
KERNEL=$FROM/vmlinuz
[ -f "$KERNEL" ] || KERNEL=$PACKED/boot/vmlinuz-$RELEASE

# sch_dualpi2, for that very kernel: with its configuration, its symbols and its headers. What the
# package of headers has of programs needs a newer C library than some machines have, so those come
# from the source: modpost and objtool do the same whatever kernel they are configured for.
dualpi2() {
    need "what builds a module" "cc make flex bison bc" "gcc libc6-dev make flex bison bc"
    echo '#include <gelf.h>' | cc -E -x c - >/dev/null 2>&1 ||
        need "what builds a module" "libelf-dev" "libelf-dev"
    if [ ! -e "$WORK/source" ]; then
        unpack_source '*/Makefile*' '*/Kbuild*' '*/Kconfig*' "$SOURCE/scripts" "$SOURCE/include" \
            "$SOURCE/arch/x86" "$SOURCE/kernel" "$SOURCE/tools" "$SOURCE/security" \
            "$SOURCE/net/sched/sch_dualpi2.c"
        touch "$WORK/source"
    fi
    say "building sch_dualpi2"
    tools=$WORK/tools
    mkdir -p "$tools" "$WORK/module"
    printf 'CONFIG_64BIT=y\nCONFIG_MODULES=y\n' > "$WORK/config"
    { make -C "$WORK/$SOURCE" O="$tools" -s ARCH=x86 KCONFIG_ALLCONFIG="$WORK/config" allnoconfig &&
        make -C "$WORK/$SOURCE" O="$tools" -s -j"$(nproc)" ARCH=x86 modules_prepare
    } >"$WORK/log" 2>&1 || broken "building what builds a module"
    headers=$PACKED/usr/src/linux-headers-$RELEASE
    kbuild=$PACKED/usr/lib/linux-kbuild-${RELEASE%-amd64}
    rm -rf "$kbuild"
    mkdir -p "$kbuild/tools/objtool"
    cp -r "$WORK/$SOURCE/scripts" "$kbuild/"
    cp -r "$tools/scripts/." "$kbuild/scripts/"
    cp "$tools/tools/objtool/objtool" "$kbuild/tools/objtool/"
    cp "$WORK/$SOURCE/net/sched/sch_dualpi2.c" "$WORK/module/"
    echo 'obj-m := sch_dualpi2.o' > "$WORK/module/Kbuild"
    # The configuration says what Debian's compiler can do. Where this one is older, the kernel's
    # Makefile has another way to the same alignment. The types for BPF (BTF) need pahole, and
    # nothing here asks for those of this module.
    set -- CONFIG_DEBUG_INFO_BTF_MODULES=
    cc -fmin-function-alignment=16 -E -x c /dev/null >/dev/null 2>&1 ||
        set -- "$@" CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=
    make -C "${headers%-amd64}-common" O="$headers" M="$WORK/module" -s ARCH=x86 CC=cc HOSTCC=cc \
        "$@" modules >"$WORK/log" 2>&1 || broken "building sch_dualpi2"
}

modules=$WORK/lib/modules/$RELEASE
rm -rf "$WORK/lib" "$WORK/first"
mkdir -p "$modules"
if [ "$WHICH" = "$SERIES" ]; then
    dualpi2
    mkdir -p "$modules/updates"
    cp "$WORK/module/sch_dualpi2.ko" "$modules/updates/"
fi
say "putting it together"
for kept in $KEPT; do
    for path in "$FROM/kernel/"$kept; do
        [ -e "$path" ] || continue # no kernel has all of them
        to=$modules/kernel/${path#"$FROM/kernel/"}
        mkdir -p "${to%/*}"
        cp -r "$path" "$to"
    done
done
# Not every kmod can read what is packed.
find "$modules" -name '*.ko.xz' -exec xz -d {} +
cp "$FROM/modules.order" "$FROM/modules.builtin" "$FROM/modules.builtin.modinfo" "$modules/"
depmod -b "$WORK" "$RELEASE" 2>"$WORK/log" || broken "depmod"

mkdir -p "$WORK/first/bin" "$WORK/first/modules"
cp "$PACKED/usr/bin/busybox" "$WORK/first/bin/"
cp "$HERE/vm/init" "$HERE/vm/live" "$WORK/first/"
chmod +x "$WORK/first/init"
for module in $FIRST; do
    file=$(find "$modules" -name "$module.ko")
    [ -n "$file" ] || continue # in an older kernel it is part of another one, or built in
    cp "$file" "$WORK/first/modules/"
    echo "$module.ko" >> "$WORK/first/modules/order"
done
(cd "$WORK/first" && find . | cpio -o -H newc --quiet -R 0:0) > "$WORK/initrd"

rm -rf "$CACHE/made-of" "$CACHE/modules"
mv "$WORK/lib/modules" "$CACHE/modules"
mv "$WORK/initrd" "$CACHE/initrd"
cp "$KERNEL" "$CACHE/vmlinuz"
echo "$RELEASE" > "$CACHE/release"
echo "$print" > "$CACHE/made-of"
rm -rf "$WORK"
say "the virtual machine: $CACHE"
