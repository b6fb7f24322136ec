/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Locks whose authority lost its memory or its log (docs/protocol/locks.md, locks 8 to 11): what is in a gap, for whom it waits, and when it is over. */
#include "scenario/byte_locks.h"
#include "scenario/ends.h"

#include "lib/unit.h"

static enum nfs4r_status try_byte(struct net *n, nfs4r_server_id s, const struct nfs4r_oid *f, uint64_t who, uint64_t at)
{
	return finish(n, lock_byte(n, s, f, who, at));
}

/* Which protocol the volume has, a start knows from its view. */
static void of_a_volume_that_was_upgraded(void **state)
{
	struct net *n = net_new(3);
	struct nfs4r_oid f;

	n->secrets = true;
	n->cfg.revoke_ms = 60000;
	for (nfs4r_server_id s = P; s <= S; s++) {
		n->s[s].protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_FIRST, NFS4R_PROTOCOL_FIRST };
		n->s[s].disk_format = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_FIRST, NFS4R_DISK_FORMAT_FIRST };
	}
	ends_begin(n, "d/ d/f", NFS4R_DURABILITY_COMMIT);
	assert_true(replace_all(n, NFS4R_PROTOCOL_LOCKS, NFS4R_DISK_FORMAT_LOCKS));
	assert_true(net_finish(n, P));
	net_run(n, 2 * LEASE);
	f = at(n, "d/f");
	n->cfg.idle_ms = 60000;
	assert_int_equal(try_byte(n, P, &f, 1, 50), NFS4R_OK);
	assert_int_equal(try_byte(n, S, &f, 2, 0), NFS4R_OK);
	net_run(n, 3 * RTT(n));
	net_crash(n, P);
	net_restart(n, P, true);
	assert_true(acting(n, P, &f));
	assert_true(until_back(n));
	assert_int_equal(try_byte(n, P, &f, 3, 0), NFS4R_DENIED);
	net_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_volume_that_was_upgraded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
