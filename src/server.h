/*
 * server.h
 *	  Do we know this major version of the server? See server.c.
 */
#ifndef BLOOMFILTER_SERVER_H
#define BLOOMFILTER_SERVER_H

#include "postgres.h"

/* Major versions of PostgreSQL whose private parts we know */
#define SERVER_FIRST_MAJOR	15
#define SERVER_LAST_MAJOR	19

extern void server_init(void);
extern bool server_is_known(void);
extern char *server_refusal(void);

#endif							/* BLOOMFILTER_SERVER_H */
