/* bloomfilter--1.0--1.1.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION bloomfilter UPDATE TO '1.1'" to load this file. \quit

-- No object differs: what is new in 1.1 is in the library.  Later objects are added here or
-- in a further script; the script of 1.0 stays as it is.
