/*
 * probe_switch.c
 *	  Pauses a probe that drops too few rows, because it costs more than it saves.
 */
#include "probe_switch.h"

/* Decide after this many rows whether a probe pays. */
#define SWITCH_ROWS				2048
/*
 * If the probe does not pay, let this many rows pass before the next try: so 3 % of the rows
 * are probed.  Each further failure multiplies the number by four, six times at most.
 */
#define SKIP_ROWS				UINT64CONST(65536)
#define SKIP_GROWTH				4
#define SKIP_ROWS_MAX			(SKIP_ROWS * 4096)

/* Initialize; "share" of the rows is expected to pass; a "forced" probe never pauses. */
void
probe_switch_init(ProbeSwitch *pays, double share, bool forced)
{
	memset(pays, 0, sizeof(*pays));
	pays->forced = forced;
	pays->share = share;
	pays->skip_next = SKIP_ROWS;
}

/* Count rows that were probed and rows that passed; decide whether to pause. */
void
probe_switch_count(ProbeSwitch *pays, int probed, int passed)
{
	pays->probed += probed;
	pays->passed += passed;
	if (pays->probed < SWITCH_ROWS)
		return;
	pays->share = (double) pays->passed / pays->probed;
	pays->passed_before += pays->passed;
	if (pays->share > PROBE_SHARE_MAX && !pays->forced &&
		pays->passed_before > pays->pause_after)
	{
		pays->pauses++;
		pays->skip = pays->skip_next;
		pays->skip_next = Min(pays->skip_next * SKIP_GROWTH, SKIP_ROWS_MAX);
	}
	else
		pays->skip_next = SKIP_ROWS;
	pays->probed = pays->passed = 0;
}
