/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The state that Prague's connections show, by socket. For programs that have to see the same state
 * the loader shares one map. Others recognize it by its name (src/sockets.rs).
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
