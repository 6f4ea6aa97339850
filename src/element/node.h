/*
 * node.h
 *	  The tree that mirrors the type of an element.  Only for element/; see element.c.
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
	HashFunction hash;			/* fast path for a whole element, or NULL */
	ElementState *state;		/* of the whole tree */
	MemoryContext mcxt;			/* where this node lives */

	/*
	 * A RECORD, or an array of them: each value has its own structure, and a
	 * NULL has none.
	 */
	bool		anonymous;

	/* Enums and other types */
	char	   *name;			/* quoted type name, UTF-8 */
	FmgrInfo	hash_proc;		/* extended hash function, other types only */

	/*
	 * Arrays, ranges, multiranges (of ranges).  All parts of an array have
	 * one structure: "part_description", current as of "part_structure".
	 */
	ElementNode *part;
	ArrayMetaState array_meta;
	TypeCacheEntry *range_type;
	char	   *part_description;
	uint64		part_structure;

	/* Records */
	RecordLayout *layout;		/* the last one seen */
	bool		seen;			/* false: the last value was NULL or missing */

	/* For a hasher made like another */
	bool		is_text;		/* or varchar, or char(n) */
	bool		blank_padded;	/* char(n) */
	AppendFunction append_text; /* of a literal */
	const ElementNode *like;	/* the other's node, or NULL */
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

/* The state of a hasher */
struct ElementState
{
	ElementNode *root;
	bool		portable;		/* hashes mean the same everywhere */
	bool		local;			/* a node hashes otherwise than if portable */
	StringInfoData buf;			/* data is NULL until it is needed */

	/*
	 * "structure" counts changes of the tree; the hasher's class is that of
	 * "class_structure".
	 */
	uint64		structure;
	uint64		class_structure;
};

#endif							/* BLOOMFILTER_ELEMENT_NODE_H */
