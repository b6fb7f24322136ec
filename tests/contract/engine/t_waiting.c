/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* How many threads may wait for other servers (decision 0036): a share of all, and few for what is not likely to be answered. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine_int.h"
#include "engine/update/update_int.h"

#include "lib/unit.h"

#define SELF 1
#define PEER 2
#define MOST 20
#define FEW 8

static struct nfs4r_engine *waiting(uint32_t max)
{
	struct nfs4r_engine *eng = calloc(1, sizeof(*eng));

	pthread_mutex_init(&eng->runtime.waiting.lock, NULL);
	eng->cfg.rpc.self = SELF;
	eng->cfg.waiting_max = max;
	engine_waiting_peer(eng, PEER, true);
	return eng;
}

static struct nfs4r_oid object(uint64_t seq)
{
	struct nfs4r_oid oid;

	nfs4r_oid_make(&oid, PEER, 1, seq);
	return oid;
}

static uint32_t begin(struct nfs4r_engine *eng, enum waiting_kind kind, uint32_t n)
{
	uint32_t got = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct nfs4r_oid oid = object(i + 1);

		got += engine_waiting_begin(eng, kind, &oid);
	}
	return got;
}

static void few_wait_for_what_is_not_answered(void **state)
{
	struct nfs4r_engine *eng = waiting(MOST);

	assert_int_equal(begin(eng, WAITING_UNANSWERED, 100), FEW);
	assert_int_equal(begin(eng, WAITING_ANSWERED, 100), MOST - FEW); /* the others are not hurt */
	assert_true(engine_waiting_full(eng));
	engine_waiting_end(eng, WAITING_UNANSWERED);
	assert_false(engine_waiting_full(eng));
	assert_int_equal(begin(eng, WAITING_UNANSWERED, 100), 1);
	free(eng);
}

static void a_share_waits_for_who_answers(void **state)
{
	struct nfs4r_engine *eng = waiting(MOST);

	assert_int_equal(begin(eng, WAITING_ANSWERED, 100), MOST);
	assert_int_equal(begin(eng, WAITING_UNANSWERED, 1), 0);
	for (int i = 0; i < MOST; i++)
		engine_waiting_end(eng, WAITING_ANSWERED);
	assert_int_equal(begin(eng, WAITING_UNANSWERED, FEW), FEW); /* who was refused has left nothing behind */
	free(eng);
}

static void what_was_waited_for_in_vain_is_not_waited_for_again(void **state)
{
	struct nfs4r_engine *eng = waiting(MOST);
	struct nfs4r_oid a = object(1), b = object(2);

	engine_waiting_vain(eng, 0, &a);
	assert_false(engine_waiting_begin(eng, WAITING_UNANSWERED, &a));
	assert_true(engine_waiting_begin(eng, WAITING_UNANSWERED, &b));
	assert_true(engine_waiting_begin(eng, WAITING_ANSWERED, &a)); /* somebody may say it now */
	eng->runtime.waiting.vain[nfs4r_oid_hash(&a) % VAIN].until_ms = engine_now_ms(); /* a second later */
	assert_true(engine_waiting_begin(eng, WAITING_UNANSWERED, &a));
	free(eng);
}

static void who_does_not_answer_is_not_counted_on(void **state)
{
	struct nfs4r_engine *eng = waiting(MOST);
	struct nfs4r_oid a = object(1);

	assert_int_equal(engine_waiting_kind(eng, SELF), WAITING_ANSWERED);
	assert_int_equal(engine_waiting_kind(eng, PEER), WAITING_ANSWERED);
	assert_int_equal(engine_waiting_kind(eng, 0), WAITING_UNANSWERED);
	engine_waiting_vain(eng, PEER, &a); /* cut off, and nobody knows it yet */
	assert_int_equal(engine_waiting_kind(eng, PEER), WAITING_UNANSWERED);
	engine_waiting_heard(eng, PEER);
	assert_int_equal(engine_waiting_kind(eng, PEER), WAITING_ANSWERED);
	engine_waiting_peer(eng, PEER, false);
	assert_int_equal(engine_waiting_kind(eng, PEER), WAITING_UNANSWERED);
	engine_waiting_vain(eng, SELF, &a);
	assert_int_equal(engine_waiting_kind(eng, SELF), WAITING_ANSWERED);
	free(eng);
}

static void without_a_bound_all_wait(void **state)
{
	struct nfs4r_engine *eng = waiting(0);
	struct nfs4r_oid a = object(1);

	engine_waiting_vain(eng, 0, &a);
	assert_int_equal(begin(eng, WAITING_UNANSWERED, 1000), 1000);
	assert_false(engine_waiting_full(eng));
	free(eng);
}

static void only_who_has_a_worker_is_counted(void **state)
{
	static const enum op_state way[] = { OP_COUNTED, OP_PARKED, OP_PARKED_QUEUED, OP_PARKED_PASSING, OP_PARKED, OP_DRIVEN, OP_COUNTED, OP_OVER };
	static const uint32_t counted[] = { 1, 0, 0, 0, 0, 0, 1, 0 };
	struct nfs4r_engine *eng = waiting(MOST);
	struct opctx o = { .state = OP_DRIVEN };

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		update_op_move(eng, &o, way[i]);
		assert_int_equal(o.state, way[i]);
		assert_int_equal(eng->runtime.waiting.all, counted[i]);
	}
	free(eng);
}

/* An executor that drives a parked operation is no worker of the caller's: were it counted, nobody would end that before the retry comes, which may be never. */
static void an_operation_that_is_parked_is_never_counted(void **state)
{
	struct nfs4r_engine *eng = waiting(MOST);
	struct opctx o = { .state = OP_PARKED_PASSING };
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		fclose(stderr);
		update_op_move(eng, &o, OP_COUNTED);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	free(eng);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_wait_for_what_is_not_answered),
		cmocka_unit_test(a_share_waits_for_who_answers),
		cmocka_unit_test(what_was_waited_for_in_vain_is_not_waited_for_again),
		cmocka_unit_test(who_does_not_answer_is_not_counted_on),
		cmocka_unit_test(without_a_bound_all_wait),
		cmocka_unit_test(only_who_has_a_worker_is_counted),
		cmocka_unit_test(an_operation_that_is_parked_is_never_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
