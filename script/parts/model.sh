# shellcheck shell=bash
#
# Filters of both types and elements of many, against exact sets: random sequences
# of all operations of SQL, and the error rate within the bound of chance
# (test/model/model.sql).  A minute; other sequences, or longer ones:
#
#     MODEL_SEED=7 MODEL_STEPS=20000 MODEL_FILTERS=100000 script/test model

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$root/script/parts/lib.sh"

part_model()
{
	fresh_build model
	fresh_server
	suite "Random operations against exact sets" run_sql model/model.sql \
		-v seed="${MODEL_SEED:-1}" -v steps="${MODEL_STEPS:-2000}" \
		-v filters="${MODEL_FILTERS:-20000}"
	suite "The server after these" no_crash
}
