/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces arch/um/include/asm/archrandom.h: a machine without random numbers of its own. The
 * original asks the host, and no run would be like another. Without it chance comes from the
 * command line, which has the scenario's seed, and from what the first process adds.
 */
#ifndef __ASM_UM_ARCHRANDOM_H__
#define __ASM_UM_ARCHRANDOM_H__

#include <linux/types.h>

static inline size_t __must_check arch_get_random_longs(unsigned long *v, size_t max_longs)
{
	return 0;
}

static inline size_t __must_check arch_get_random_seed_longs(unsigned long *v, size_t max_longs)
{
	return 0;
}

#endif
