/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What Prague's connections show of themselves, by socket. Programs that are to see the same have the
 * loader share one map; its name tells others what it is (src/sockets.rs).
 */
#ifndef L4S_SHOWN_H
#define L4S_SHOWN_H

#include "kernel.h"
#include "../c/prague.h"

struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct prague_shown *value;
} prague_sockets SEC(".maps");

#endif
