/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Somebody between two servers of a test: takes the connections of one, makes one to the other for each, and hands records over. It reads the marks of records, and
 * may change what it hands over.
 */
#ifndef NFS4R_TEST_RPC_TAP_H
#define NFS4R_TEST_RPC_TAP_H

#include "contract/rpc/world.h"

enum tap_act {
	TAP_NOTHING,
	TAP_FLIP, /* one bit of the record, another one each time */
	TAP_DROP,
	TAP_REPEAT,
	TAP_SWAP, /* with the one that follows */
	TAP_CUT, /* half of it, and the end */
	TAP_ACTS,
};

struct tap;

/* Listens at @at; connections go on to @to, from the address @from. */
struct tap *tap_start(const struct nfs4r_endpoint *at, const struct nfs4r_endpoint *to, const char *from);
void tap_stop(struct tap *p);
/* To the next record of at least @least bytes that the server which calls sends. */
void tap_do(struct tap *p, enum tap_act act, uint32_t least);
bool tap_done(struct tap *p); /* it was done */
/* From now on @text, the one with number @i, is looked for in all records, in both directions. At most TAP_TEXT bytes. */
#define TAP_TEXTS 5
#define TAP_TEXT 64
void tap_look_for(struct tap *p, uint32_t i, const char *text);
uint64_t tap_seen(struct tap *p, uint32_t i); /* times that it was there */
uint64_t tap_bytes(struct tap *p); /* handed over */
/* The first record that the server which calls sent on its first connection, with its mark. Returns its length, 0: there was none. */
size_t tap_first(struct tap *p, void *out, size_t size);

#endif
