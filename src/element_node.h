/*
 * element_node.h
 *	  The tree that tells how to turn the values of a type into canonical bytes.
 *
 * For the files element_*.c and element.c alone; see there.
 */
#ifndef BLOOMFILTER_ELEMENT_NODE_H
#define BLOOMFILTER_ELEMENT_NODE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/typcache.h"

struct ElementHasher;

/* Tokens of the types that have parts or names; the others are leaf_types[] */
#define TOKEN_ARRAY			'['
#define TOKEN_RANGE			'R'
#define TOKEN_MULTIRANGE	'M'
#define TOKEN_RECORD		'('
#define TOKEN_RECORD_END	')'
#define TOKEN_RECORD_UNSEEN	'r'
#define TOKEN_ENUM			'E'
#define TOKEN_OTHER			'X'
#define TOKEN_TEXT			't'
#define TOKEN_QUOTE			'"'

typedef struct ElementNode ElementNode;
typedef struct ElementState ElementState;
typedef struct RecordLayout RecordLayout;

typedef uint64 (*HashFunction) (struct ElementHasher *hasher, Datum value,
								uint64 seed);
typedef void (*AppendFunction) (ElementNode *node, StringInfo buf,
								Datum value);

/* How to turn the values of one type into canonical bytes */
struct ElementNode
{
	char		token;
	Oid			type;			/* a domain's base type */
	Oid			collation;
	AppendFunction append;
	HashFunction hash;			/* quick way for a whole element, or NULL */
	ElementState *state;		/* of the whole tree */
	MemoryContext mcxt;			/* where this node lives */

	/*
	 * For a RECORD and an array of them: each value has a structure of its
	 * own, and with NULL in its place, none.
	 */
	bool		anonymous;

	/* Enums and other types */
	char	   *name;			/* quoted type name, UTF-8 */
	FmgrInfo	hash_proc;		/* extended hash function, other types only */

	/*
	 * Arrays, ranges and multiranges (whose parts are ranges).  The parts of
	 * one array must agree on their structure: "part_description" is theirs
	 * as of "part_structure", see ElementState.
	 */
	ElementNode *part;
	ArrayMetaState array_meta;
	TypeCacheEntry *range_type;
	char	   *part_description;
	uint64		part_structure;

	/* Records */
	RecordLayout *layout;		/* the last one seen */
	bool		seen;			/* false: the last value was NULL or missing */

	/* See element_hasher_create_like() */
	bool		is_text;		/* or varchar, or char(n) */
	bool		blank_padded;	/* char(n) */
	AppendFunction append_text; /* of a literal */
	const ElementNode *like;	/* see element_hasher_create_like(), or NULL */
};

/* The columns of a record */
struct RecordLayout
{
	MemoryContext mcxt;			/* holds all of this layout */
	uint64		identifier;		/* see assign_record_type_identifier() */
	TupleDesc	desc;
	int			live;			/* number of columns that are not dropped */
	ElementNode **columns;		/* NULL for a dropped one */
	Datum	   *values;			/* work space for heap_deform_tuple() */
	bool	   *nulls;
};

/* What a hasher keeps */
struct ElementState
{
	ElementNode *root;
	bool		portable;		/* hashes mean the same everywhere */
	bool		local;			/* has a node that hashes in its own way there */
	StringInfoData buf;			/* data is NULL until it is needed */

	/*
	 * "structure" counts the changes in the tree.  The hasher's class is that
	 * of "class_structure"; if they differ, it is out of date.
	 */
	uint64		structure;
	uint64		class_structure;
};

#endif							/* BLOOMFILTER_ELEMENT_NODE_H */
