/*
 * server.c
 *	  Do we know this major version of the server?
 *
 * Our plan nodes rely on what PostgreSQL does not promise: how it scans a heap, hashes the
 * rows of a join, and prunes partitions; and page.c writes a WAL record in a format that is
 * private to generic_xlog.c.  A later major version may do any of this differently.  So each
 * hook of the planner asks server_is_known(), and plans as PostgreSQL would if it is false;
 * page.c then leaves the record to GenericXLogFinish().  Types, functions and indexes work on
 * any version.
 */
#include "server.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "common/file_utils.h"
#include "miscadmin.h"
#include "storage/fd.h"

/*
 * Environment variable of the server that lowers SERVER_LAST_MAJOR, for tests: there is no
 * server that is too new.
 */
#define LAST_MAJOR_VARIABLE		"BLOOMFILTER_LAST_MAJOR"

/* Relative to the data directory, which is the server's working directory */
#define TEMP_DIRECTORY	"base/" PG_TEMP_FILES_DIR

#define SERVER_MAJOR	(PG_VERSION_NUM / 10000)

static int	last_major = SERVER_LAST_MAJOR;

/* Is this a major version whose private parts we know? */
bool
server_is_known(void)
{
	return SERVER_MAJOR >= SERVER_FIRST_MAJOR && SERVER_MAJOR <= last_major;
}

/*
 * Is this the first process that loads the library since the server started?  It creates a
 * temporary file, which the server removes when it starts.  Shared memory would do, but might
 * run out, and a message must not make a session fail.
 */
static bool
is_first(void)
{
	int			file;

	/* the postmaster or a standalone backend loads the library only once */
	if (!IsUnderPostmaster)
		return true;
	(void) MakePGDirectory(TEMP_DIRECTORY);
	file = open(TEMP_DIRECTORY "/" PG_TEMP_FILE_PREFIX "_bloomfilter_refused",
				O_CREAT | O_EXCL | O_WRONLY, pg_file_create_mode);
	return file >= 0 && close(file) == 0;
}

/* When the library is loaded: on an unknown server, log what is off. */
void
server_init(void)
{
	const char *last = getenv(LAST_MAJOR_VARIABLE);

	if (last)
		last_major = Min(atoi(last), SERVER_LAST_MAJOR);
	if (!server_is_known() && is_first())
		ereport(LOG,
				(errmsg("bloomfilter changes no query plans on PostgreSQL %d",
						SERVER_MAJOR),
				 errdetail("It knows PostgreSQL %d to %d.  Filter Scans, Filter Bypasses, join filters, Partition Filters and filters for foreign servers are off, and insertions into membership indexes take longer.",
						   SERVER_FIRST_MAJOR, last_major),
				 errhint("Install a later version of the extension.")));
}

/* What EXPLAIN says on an unknown server */
char *
server_refusal(void)
{
	return psprintf("none on PostgreSQL %d, bloomfilter knows %d to %d",
					SERVER_MAJOR, SERVER_FIRST_MAJOR, last_major);
}
