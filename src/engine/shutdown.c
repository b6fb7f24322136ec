/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* A stop in order lets go of everything first (control 7.12, src/core/shutdown.c), for at most Stop_Wait. Everything still runs meanwhile but what local clients ask. */
#include <inttypes.h>

#include "engine/engine_int.h"

#define LOOK_US 50000 /* at the lease and the time, which end without a step */

static uint64_t controls(const struct nfs4r_engine *eng)
{
	struct nfs4r_core_stats st;

	nfs4r_core_get_stats(eng->core, &st);
	return st.controls_own;
}

static bool goes_on(enum nfs4r_leave how)
{
	return how == NFS4R_LEAVE_WAIT || how == NFS4R_LEAVE_LEASE_RETURNED;
}

/* The lock is held. */
static enum nfs4r_leave wait_until_shut_down(struct nfs4r_engine *eng)
{
	uint64_t until = engine_now_ms() + eng->cfg.stop_wait_ms;
	enum nfs4r_leave how;

	while (goes_on(how = nfs4r_core_leave(eng->core)) && !eng->runtime.halt.why[0] && engine_now_ms() < until) {
		struct timespec look = engine_after_us(LOOK_US);

		(void)engine_step_await(eng, &look);
	}
	return how;
}

/* Also when it released everything, and some member has not confirmed that: that one may have it as controlled when it is back. */
static void say_unreleased(struct nfs4r_engine *eng, enum nfs4r_leave how, uint64_t left)
{
	engine_log(eng, NFS4R_LOG_WARN, "volume %s: shutting down with %" PRIu64 " controls not released, or releases not confirmed by all servers (%s): with Durability = local the others may wait for these objects until this server returns",
		   eng->cfg.volume_name, left,
		   eng->runtime.halt.why[0] ? "it has halted" : how == NFS4R_LEAVE_CANNOT ? "this server is not a member of the view or has no lease, or a server is missing" :
											    "Stop_Wait is over");
}

void engine_leave(struct nfs4r_engine *eng)
{
	struct nfs4r_event ev = { .type = NFS4R_EV_LEAVE };
	uint64_t begun = engine_now_ms(), had, left;
	enum nfs4r_leave how;

	if (!eng->cfg.stop_wait_ms || !eng->door.working)
		return;
	pthread_mutex_lock(&eng->lock);
	had = controls(eng);
	if (!eng->runtime.halt.why[0])
		engine_step(eng, &ev);
	how = wait_until_shut_down(eng);
	left = controls(eng);
	pthread_mutex_unlock(&eng->lock);
	if (how == NFS4R_LEAVE_DONE || how == NFS4R_LEAVE_LEASE_RETURNED) {
		if (had)
			engine_log(eng, NFS4R_LOG_INFO, "volume %s: all controls were released before shutdown, in %.2f s", eng->cfg.volume_name,
				   (double)(engine_now_ms() - begun) / 1000);
	} else if (how == NFS4R_LEAVE_WAIT || had || left) {
		say_unreleased(eng, how, left);
	}
}
