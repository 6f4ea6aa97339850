/*
 * probe_switch.h
 *	  Pauses a probe that does not pay; see probe_switch.c.
 */
#ifndef BLOOMFILTER_PROBE_SWITCH_H
#define BLOOMFILTER_PROBE_SWITCH_H

#include "postgres.h"

/*
 * Do not plan a probe that is expected to let a larger share of rows pass, and pause one that
 * does: the dropped rows must save more than probing all rows costs.
 */
#define PROBE_SHARE_MAX			0.75

typedef struct ProbeSwitch
{
	bool		forced;			/* never pause */
	uint64		probed;			/* rows probed in this window of SWITCH_ROWS */
	uint64		passed;
	uint64		pause_after;	/* pause only if more rows have passed in all */
	uint64		passed_before;	/* rows that passed before this window */
	uint64		skip;			/* rows that still pass without a probe */
	uint64		skip_next;		/* length of the next pause */
	uint64		pauses;			/* number of pauses */
	double		share;			/* share that passed in the last window */
} ProbeSwitch;

extern void probe_switch_init(ProbeSwitch *pays, double share, bool forced);
extern void probe_switch_count(ProbeSwitch *pays, int probed, int passed);

/* Are the next "rows" rows to be probed?  If not, all of them pass. */
static inline bool
probe_switch_is_on(ProbeSwitch *pays, int rows)
{
	if (likely(pays->skip == 0))
		return true;
	pays->skip -= Min(pays->skip, rows);
	return false;
}

#endif							/* BLOOMFILTER_PROBE_SWITCH_H */
