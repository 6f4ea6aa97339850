/*
 * occupancy.h
 *	  Elements and set bits of a layer of a Bloom filter; see occupancy.c.
 */
#ifndef FILTER_OCCUPANCY_H
#define FILTER_OCCUPANCY_H

#include "sizing.h"

/*
 * The probability that one element, which picks k bits of a block, leaves d
 * given bits of a lane clear
 */
extern double block_spares(unsigned k, int d);

#endif							/* FILTER_OCCUPANCY_H */
