#!/bin/sh
# Builds the static libraries that libbpf links with, libelf and zlib, from the sources that come with
# the crate libbpf-sys. The C compiler may be one for another machine or another libc: nothing is run.
#
# libelf.sh FOLDER COMPILER...: headers and libraries into FOLDER.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd) && shift

manifest=$(cargo metadata --locked --format-version 1 | grep -o '"manifest_path":"[^"]*/libbpf-sys-[^"/]*/Cargo.toml"')
manifest=${manifest#*:\"}
source=${manifest%/Cargo.toml*}
made_of="$source $*"
[ "$(cat "$out/made-of" 2>/dev/null)" != "$made_of" ] || exit 0

mkdir -p "$out/include" "$out/elf" "$out/z"
cp "$source"/elfutils/libelf/libelf.h "$source"/elfutils/libelf/gelf.h "$source"/elfutils/libelf/nlist.h \
    "$source"/zlib/zlib.h "$source"/zlib/zconf.h "$out/include"
# The results of elfutils' own configure for a C library, glibc or musl.
cat >"$out/config.h" <<C
#define _GNU_SOURCE 1
#define HAVE_DECL_MEMPCPY 1
#define HAVE_DECL_POWEROF2 1
#define HAVE_DECL_REALLOCARRAY 1
#define HAVE_ERR_H 1
#define HAVE_FALLTHROUGH 1
#define HAVE_GCC_STRUCT 1
#define HAVE_STDATOMIC_H 1
#define HAVE_VISIBILITY 1
#define PACKAGE "elfutils"
#include <eu-config.h>
C
each() { xargs -P "$(nproc)" -I FILE sh -c 'cd "$0" && "$@" -c -O2 -fPIC -w FILE' "$@"; }
ls "$source"/zlib/*.c | each "$out/z" "$@" -D_LARGEFILE64_SOURCE -DHAVE_UNISTD_H
ls "$source"/elfutils/libelf/*.c "$source"/elfutils/lib/next_prime.c "$source"/elfutils/lib/crc32.c |
    each "$out/elf" "$@" -std=gnu99 -DHAVE_CONFIG_H -I"$out" -I"$source/elfutils/lib" \
        -I"$source/elfutils/libelf" -I"$source/zlib"
for library in elf z; do
    rm -f "$out/lib$library.a"
    ar rcsD "$out/lib$library.a" "$out/$library"/*.o
    rm -r "$out/$library"
done
echo "$made_of" >"$out/made-of"
