/*
 * events.h
 *	  The server's events that other files act on; see events.c.
 */
#ifndef BLOOMFILTER_EVENTS_H
#define BLOOMFILTER_EVENTS_H

extern void events_init(void);

#endif							/* BLOOMFILTER_EVENTS_H */
