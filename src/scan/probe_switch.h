/*
 * probe_switch.h
 *	  Pausing a probe that does not pay; see probe_switch.c.
 */
#ifndef BLOOMFILTER_PROBE_SWITCH_H
#define BLOOMFILTER_PROBE_SWITCH_H

#include "postgres.h"

/*
 * A probe that lets more of the rows pass is not planned, or pauses: the rows that it
 * drops must save more than probing all rows costs.
 */
#define PROBE_SHARE_MAX			0.75

typedef struct ProbeSwitch
{
	bool		forced;			/* never pauses */
	uint64		probed;			/* rows probed in this window */
	uint64		passed;
	uint64		skip;			/* rows that pass before the next window */
	uint64		skip_next;		/* the same, if that one does not pay */
	uint64		pauses;			/* how many windows did not pay */
	double		share;			/* of the rows that passed in the last window */
} ProbeSwitch;

extern void probe_switch_init(ProbeSwitch *pays, double share, bool forced);
extern void probe_switch_count(ProbeSwitch *pays, int probed, int passed);

/* Are the next "rows" rows to be probed?  If not, they pass. */
static inline bool
probe_switch_is_on(ProbeSwitch *pays, int rows)
{
	if (likely(pays->skip == 0))
		return true;
	pays->skip -= Min(pays->skip, rows);
	return false;
}

#endif							/* BLOOMFILTER_PROBE_SWITCH_H */
