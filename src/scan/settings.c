/*
 * settings.c
 *	  Defines the settings of Filter Scans, join filters and Partition Filters.
 */
#include "settings.h"

#include "once.h"

int			filter_scan_setting = FILTER_SCAN_ON;
int			join_filter_setting = JOIN_FILTER_ON;
bool		partition_filter_setting = true;
bool		foreign_filter_setting = false;

/* Define the settings, when the library is loaded. */
void
settings_init(void)
{
	static const struct config_enum_entry settings[] = {
		{"off", FILTER_SCAN_OFF, false},
		{"on", FILTER_SCAN_ON, false},
		{"force", FILTER_SCAN_FORCE, true},
		{NULL, 0, false}
	};
	static const struct config_enum_entry join_settings[] = {
		{"off", JOIN_FILTER_OFF, false},
		{"index", JOIN_FILTER_INDEX, false},
		{"on", JOIN_FILTER_ON, false},
		{"force", JOIN_FILTER_FORCE, true},
		{NULL, 0, false}
	};

	DEFINE_ONCE(DefineCustomEnumVariable, "bloomfilter.filter_scan",
				"Enables the planner's use of Filter Scans.",
				NULL, &filter_scan_setting, FILTER_SCAN_ON,
				settings, PGC_USERSET, GUC_EXPLAIN,
				NULL, NULL, NULL);
	DEFINE_ONCE(DefineCustomEnumVariable, "bloomfilter.join_filter",
				"Selects which joins drop rows without a partner before they join.",
				"\"index\" filters a table by a membership index of a table that it is joined to; \"on\" also by the keys of a hash join.",
				&join_filter_setting, JOIN_FILTER_ON,
				join_settings, PGC_USERSET, GUC_EXPLAIN,
				NULL, NULL, NULL);
	DEFINE_ONCE(DefineCustomBoolVariable, "bloomfilter.partition_filter",
				"Enables the planner's use of Partition Filters.",
				"They read only those partitions whose membership index may have the value that a query looks for.",
				&partition_filter_setting, true,
				PGC_USERSET, GUC_EXPLAIN,
				NULL, NULL, NULL);
	DEFINE_ONCE(DefineCustomBoolVariable, "bloomfilter.foreign_filter",
				"Sends filters of the keys of hash joins to foreign servers.",
				"The keys leave the database: as hashes, which a server may compare with those of values that it guesses; few numbers, dates or timestamps, or the least and the greatest, as they are.",
				&foreign_filter_setting, false, PGC_USERSET, GUC_EXPLAIN,
				NULL, NULL, NULL);
	ONCE(MarkGUCPrefixReserved("bloomfilter"));
}
