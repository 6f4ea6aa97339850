# shellcheck shell=bash
#
# What docs/citus.md says of Citus, on the cluster that $BLOOMFILTER_CITUS names: see
# test/citus/run.  Skipped if it names none, for Debian has no Citus.

part_citus()
{
	suite "Citus" "$root/test/citus/run"
}
