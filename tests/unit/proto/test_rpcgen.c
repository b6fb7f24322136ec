/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * The golden vectors read as nfs4r.x says, by the codecs that rpcgen makes of it and another
 * XDR library (libtirpc): each decodes, uses all its bytes and encodes to the same.
 * Usage: proto_rpcgen <golden folder>
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfs4r_gen.h"

static u_int hex_read(const char *path, char *out, u_int max)
{
	FILE *f = fopen(path, "r");
	unsigned byte;
	u_int n = 0;

	if (!f)
		return 0;
	while (n < max && fscanf(f, "%2x", &byte) == 1)
		out[n++] = (char)byte;
	fclose(f);
	return n;
}

static int check(const char *path, int journal)
{
	static char in[65536], out[65536];
	xdrproc_t proc = journal ? (xdrproc_t)xdr_nfs4r_journal_entry : (xdrproc_t)xdr_nfs4r_message;
	union {
		nfs4r_message m;
		nfs4r_journal_entry e;
	} obj;
	u_int len = hex_read(path, in, sizeof(in));
	XDR x;
	int ok;

	memset(&obj, 0, sizeof(obj));
	xdrmem_create(&x, in, len, XDR_DECODE);
	ok = len > 0 && proc(&x, &obj) && xdr_getpos(&x) == len;
	if (ok) {
		xdrmem_create(&x, out, sizeof(out), XDR_ENCODE);
		ok = proc(&x, &obj) && xdr_getpos(&x) == len && memcmp(in, out, len) == 0;
	}
	xdr_free(proc, (char *)&obj);
	printf("%s %s\n", ok ? "ok" : "not ok", path);
	return ok;
}

int main(int argc, char **argv)
{
	DIR *dir = argc > 1 ? opendir(argv[1]) : NULL;
	struct dirent *d;
	int good = 0, bad = 0;
	char path[4096];

	while (dir && (d = readdir(dir)) != NULL) {
		if (!strstr(d->d_name, ".hex"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], d->d_name);
		if (check(path, strncmp(d->d_name, "journal", 7) == 0))
			good++;
		else
			bad++;
	}
	if (dir)
		closedir(dir);
	return good > 0 && bad == 0 ? 0 : 1;
}
