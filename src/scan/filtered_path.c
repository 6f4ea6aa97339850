/*
 * filtered_path.c
 *	  What the rows of a path owe to join filters, in it or below.
 */
#include "filter_path.h"

/* The path below one that only stores, sorts, projects or gathers rows; NULL if it is another */
static Path *
path_below(Path *path)
{
	switch (nodeTag(path))
	{
		case T_MaterialPath:
			return ((MaterialPath *) path)->subpath;
		case T_ProjectionPath:
			return ((ProjectionPath *) path)->subpath;
		case T_SortPath:
		case T_IncrementalSortPath:
			return ((SortPath *) path)->subpath;
		case T_GatherPath:
			return ((GatherPath *) path)->subpath;
		case T_GatherMergePath:
			return ((GatherMergePath *) path)->subpath;
		default:
			return NULL;
	}
}

static bool
is_join(Path *path)
{
	return IsA(path, NestPath) || IsA(path, HashPath) || IsA(path, MergePath);
}

/* Does the number of a path's rows depend on a join filter, in it or in a join below? */
bool
filter_path_has_join(Path *path)
{
	Path	   *below = path_below(path);
	ListCell   *cell;

	if (below)
		return filter_path_has_join(below);
	if (is_join(path))
		return filter_path_has_join(((JoinPath *) path)->outerjoinpath) ||
			filter_path_has_join(((JoinPath *) path)->innerjoinpath);
	foreach(cell, IsA(path, AppendPath) ? ((AppendPath *) path)->subpaths : NIL)
	{
		if (filter_path_has_join(lfirst(cell)))
			return true;
	}
	return filter_path_is_filtered(path);
}

/* By what factor would a path return more rows if all rows passed its join filters? */
double
filter_path_unfiltered(Path *path)
{
	Path	   *below = path_below(path);
	double		rows = 0;
	ListCell   *cell;

	if (below)
		return filter_path_unfiltered(below);
	if (is_join(path))
		return filter_path_unfiltered(((JoinPath *) path)->outerjoinpath) *
			filter_path_unfiltered(((JoinPath *) path)->innerjoinpath);
	if (filter_path_is_filtered(path))
		return Max(path->parent->rows /
				   (path->rows * filter_path_divisor(path->parallel_workers)), 1);
	foreach(cell, IsA(path, AppendPath) ? ((AppendPath *) path)->subpaths : NIL)
	{
		Path	   *part = lfirst(cell);

		rows += part->rows * filter_path_unfiltered(part);
	}
	return Max(rows / Max(path->rows, 1), 1);
}
