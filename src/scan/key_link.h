/*
 * key_link.h
 *	  Bringing together the nodes of a join filter; see key_link.c.
 */
#ifndef BLOOMFILTER_KEY_LINK_H
#define BLOOMFILTER_KEY_LINK_H

extern void key_link_init(void);

#endif							/* BLOOMFILTER_KEY_LINK_H */
