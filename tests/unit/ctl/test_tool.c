/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The program nfs4rctl (argv[1]; argv[2]: with a clock that goes on only while it sleeps), against the real control socket of servers in memory, and against sockets that misbehave. */
#include "lib/unit.h"
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "unit/ctl/fake_engine.h"

static const char *tool, *hurried; /* the second one with hurry.c */
static char folder[64];
static struct fake *f[FAKE_SERVERS];
static struct ctl *ctl;
static char out[65536]; /* what the last run printed, both streams */

static int make(void **state)
{
	char why[NFS4R_WHY];

	snprintf(folder, sizeof(folder), "/tmp/nfs4r-tool.XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (unsigned i = 0; i < FAKE_SERVERS; i++) {
		f[i] = fake_new((nfs4r_server_id)(i + 1), folder);
		fake_add(f[i], 0, "file", NFS4R_TYPE_FILE, "some bytes");
		f[i]->own_end = 1234567;
		f[i]->ncontrols = 2;
		for (unsigned k = 1; k <= FAKE_SERVERS; k++)
			f[i]->peer[k].applied = f[i]->peer[k].stable = 1234567;
	}
	f[0]->peer[2].applied = 1234560;
	fake_connect(f, FAKE_SERVERS);
	ctl = admin_ctl_create(&f[0]->eng, why);
	return ctl ? 0 : -1;
}

static int unmake(void **state)
{
	admin_ctl_destroy(ctl);
	fake_end(f, FAKE_SERVERS);
	return rmdir(folder);
}

static int run_program(const char *program, const char *args)
{
	char cmd[1024];
	size_t n;
	FILE *p;

	snprintf(cmd, sizeof(cmd), "NFS4R_SOCKET=%s/1.sock '%s' %s 2>&1", folder, program, args);
	p = popen(cmd, "r");
	assert_non_null(p);
	n = fread(out, 1, sizeof(out) - 1, p);
	out[n] = '\0';
	int rc = pclose(p);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

/* Exit status of nfs4rctl with these arguments; what it printed is in out. */
static int run(const char *args)
{
	return run_program(tool, args);
}

static void has(const char *text)
{
	if (!strstr(out, text))
		fail_msg("'%s' is not in:\n%s", text, out);
}

static void hasnt(const char *text)
{
	if (strstr(out, text))
		fail_msg("'%s' is in:\n%s", text, out);
}

static void status_is_a_short_table(void **state)
{
	assert_int_equal(run("status"), 0);
	has("volume      home\n");
	has("state       serving\n");
	has("view        1, fixed: servers 1 2 3\n");
	has("entries 1 to 1,234,567");
	has("PEER  STATE  RTT");
	has("2     up     80.2 ms  7 entries");
	has("  0.1+build3  9 of 9 to 10  1\n");
	has("3     up     80.2 ms  none");
}

static void json_is_one_object(void **state)
{
	static const char *const cmds[] = { "--json status", "-j controls", "stats --json" };

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(run(cmds[i]), 0);
		json_t *a = json_loads(out, 0, NULL);

		assert_true(json_is_object(a));
		json_decref(a);
	}
}

static void controls_and_stats_are_shown(void **state)
{
	assert_int_equal(run("controls"), 0);
	has("DEPTH    KIND ");
	has("/file");
	has("no operation is waiting");
	assert_int_equal(run("controls --deep"), 0);
	has("/file\n");
	assert_null(strstr(out, "shallow"));
	assert_int_equal(run("--owner 3 controls"), 0);
	has("none of the 2 controls matches");
	assert_int_equal(run("controls --owner 9"), 2);
	assert_string_equal(out, "nfs4rctl: server 9 does not belong to this volume; `nfs4rctl server list` shows the servers\n");
	assert_int_equal(run("controls --waiting"), 0);
	assert_string_equal(out, "no operation is waiting or executing\n");
	assert_int_equal(run("stats"), 0);
	has("  elections");
	has("42\n");
}

static void verify_tells_by_its_exit_status(void **state)
{
	assert_int_equal(run("verify"), 0);
	has("2 objects, 10 bytes compared in");
	has("equal on all servers");
	assert_int_equal(run("--json verify /file"), 0);
	has("{\"result\":");

	pthread_mutex_lock(&f[0]->lock);
	f[0]->up[3] = false;
	pthread_mutex_unlock(&f[0]->lock);
	assert_int_equal(run("verify"), 2);
	has("server 3 does not answer: connecting");

	pthread_mutex_lock(&f[1]->lock);
	f[1]->obj[1].bytes[0] = 'X';
	pthread_mutex_unlock(&f[1]->lock);
	assert_int_equal(run("verify /"), 1);
	has("/file  [1.1.1]  server 2: content (here: version 5, size 10; there: version 5, size 10)");
	has("1 difference\n");

	/* A server that was added takes everything just now: it is not compared before it counts. */
	pthread_mutex_lock(&f[0]->eng.lock);
	f[0]->view.adopted.voters = NFS4R_BIT(1);
	pthread_mutex_unlock(&f[0]->eng.lock);
	assert_int_equal(run("verify /"), 0);

	assert_int_equal(run("verify /nothing"), 2);
	has("there is no /nothing");
}

/* A command that asks, and @line for an answer. */
static int answered(const char *cmd, const char *line)
{
	char path[128], args[400];

	snprintf(path, sizeof(path), "%s/answer", folder);
	FILE *a = fopen(path, "w");
	assert_non_null(a);
	fputs(line, a);
	fclose(a);
	snprintf(args, sizeof(args), "%s <%s", cmd, path);
	int rc = run(args);
	unlink(path);
	return rc;
}

static void abandoning_a_server_asks_for_confirmation(void **state)
{
	pthread_mutex_lock(&f[0]->eng.lock);
	f[0]->may_give_up = 3;
	f[0]->lost = 17;
	pthread_mutex_unlock(&f[0]->eng.lock);
	assert_int_equal(run("abandon 2 --yes"), 2);
	has("it is a member of the view");
	assert_int_equal(answered("abandon 3", "no\n"), 0);
	has("announced 17 updates");
	has("Nothing was changed.");
	assert_int_equal(f[0]->abandoned, 0);
	assert_int_equal(answered("abandon 3", "yes\n"), 0);
	has("Server 3 is abandoned, with 17 updates");
	assert_int_equal(f[0]->abandoned, 3);
	f[0]->abandoned = 0;
	assert_int_equal(run("--json --yes abandon 3"), 0);
	has("\"abandoned\":true");
	assert_int_equal(f[0]->abandoned, 3);
}

/* ---- servers ---- */

static void may_change(nfs4r_servers set)
{
	pthread_mutex_lock(&f[0]->eng.lock);
	f[0]->may_change = set;
	f[0]->refuses = 0;
	f[0]->view.fixed = false;
	f[0]->view.adopted.num = 65;
	pthread_mutex_unlock(&f[0]->eng.lock);
}

static void the_servers_are_a_short_table(void **state)
{
	assert_int_equal(run("server list"), 0);
	has("SERVER  ADDRESS       VOTES  LAG  VERSION     PROTOCOLS  DISK  KEY  STATE");
	has("1*      10.0.0.1:294  yes");
	has("2       10.0.0.2:294  yes    7    0.1+build2  9 to 10    1     -    member");
	assert_int_equal(run("--json server list"), 0);
	has("\"self\":true");
	has("\"adding\":null");
	has("\"forced_reconfiguration\":null");
}

static void a_server_is_added_and_taken_out(void **state)
{
	may_change(NFS4R_BIT(4));
	assert_int_equal(run("server add 4 127.0.0.4"), 0); /* port of the one that is asked */
	has("waiting: server 4: ");
	has("4       127.0.0.4:294  yes");
	assert_int_equal(run("server remove 4"), 0);
	hasnt("127.0.0.4");
	assert_int_equal(run("--no-wait server add 4 [::1]:99"), 0);
	has("`nfs4rctl server list` shows its progress");
	assert_int_equal(run("server list"), 0);
	has("[::1]:99");
	may_change(NFS4R_BIT(4));
	assert_int_equal(run("--json server remove 4"), 0);
	has("\"removing\":null");
}

static void an_upgrade_is_finished(void **state)
{
	assert_int_equal(run("upgrade finish --yes"), 2);
	has("nfs4rctl: server 2 is not heard, so its release is not known");
	assert_int_equal(run("status"), 0);
	hasnt("upgrade finish");
	pthread_mutex_lock(&f[0]->eng.lock);
	f[0]->may_finish = (struct nfs4r_volume_settings){ .protocol = 10, .disk_format = 2 };
	pthread_mutex_unlock(&f[0]->eng.lock);
	assert_int_equal(run("status"), 0);
	has("upgrade     the volume has protocol 9 and disk format 1, and every server knows protocol 10 and disk format 2: `nfs4rctl upgrade finish`");
	assert_int_equal(run("upgrade finish </dev/null"), 0);
	has("The volume gets protocol 10 and disk format 2.");
	has("Nothing was changed.");
	assert_int_equal(run("upgrade finish --json"), 2);
	has("add --yes");
	assert_int_equal(run("upgrade"), 2);
	has("upgrade needs the word finish");
	assert_int_equal(run("upgrade finish --yes"), 0);
	has("waiting: the servers are agreeing on the change");
	assert_int_equal(run("status --json"), 0);
	has("\"volume_settings\":{\"protocol\":10,\"disk_format\":2,\"may_finish\":null,");
}

static void a_setting_is_changed(void **state)
{
	struct nfs4r_volume_keys *k = &f[0]->view.adopted.settings.keys;

	assert_int_equal(run("get"), 0);
	has("Durability = local\n");
	has("Max_Round_Trip = 100 milliseconds\n");
	f[0]->view.adopted.settings = (struct nfs4r_volume_settings){ .protocol = 9, .disk_format = 1 };
	*k = (struct nfs4r_volume_keys){ 2, 1, 100, 1000, 1000, 10, 1 };
	assert_int_equal(run("get durability"), 0);
	has("Durability = commit (in the file of this server: local)\n");
	hasnt("Max_Round_Trip");
	assert_int_equal(run("status"), 0);
	has("setting     Durability = commit in the volume; the file of this server has local, which does not count");
	assert_int_equal(run("set Max_Round_Trip 400"), 0);
	has("Max_Round_Trip = 400 milliseconds (in the file of this server: 100)\n");
	assert_int_equal(run("--json set Durability majority"), 0);
	has("{\"key\":\"Durability\",\"value\":\"majority\",\"unit\":\"\",\"file\":\"local\",\"differs\":true}");
	assert_int_equal(run("set Durability mostly"), 2);
	has("nfs4rctl: Durability cannot be that; give local, commit, majority");
	assert_int_equal(run("set Lease 10"), 2);
	has("nfs4rctl: Lease cannot be that; give 200 to 60000 milliseconds");
	assert_int_equal(run("set Window 7"), 2);
	has("the volume has no such setting: it has Max_Round_Trip, ");
	assert_int_equal(run("get Window"), 2);
	has("the volume has no such setting");
	assert_int_equal(run("set Durability"), 2);
	has("set needs a key and a value");
	assert_int_equal(run("get --no-wait"), 2);
	has("get has no option but --json");
	assert_int_equal(run("set Durability local --yes"), 2);
	has("set and get have no options but --json");
	f[0]->loses_set = true;
	assert_int_equal(run("set Durability local"), 2);
	has("the setting was not changed: see the log of this server");
	f[0]->loses_set = false;
	f[0]->refuses_set = true;
	assert_int_equal(run("set Durability local"), 2);
	has("nfs4rctl: another setting is being changed");
}

static void a_refusal_is_the_servers_sentence(void **state)
{
	may_change(NFS4R_BIT(4));
	assert_int_equal(run("server add 5 127.0.0.4"), 2);
	has("nfs4rctl: server 5: do something else");
	assert_int_equal(run("server remove 3"), 2);
	has("nfs4rctl: server 3: do something else");
	assert_int_equal(run("server add 4 a..b"), 2);
	has("a..b cannot be resolved here");
	assert_int_equal(run("server add 4 10.0.0.2"), 2);
	has("10.0.0.2:294 is the address of server 2; give the new server its own");
	assert_int_equal(run("server add 4 'a b'"), 2);
	has("without blanks");
	pthread_mutex_lock(&f[0]->eng.lock);
	f[0]->refuses = 4;
	pthread_mutex_unlock(&f[0]->eng.lock);
	assert_int_equal(run("server add 4 127.0.0.4"), 2);
	has("the request failed: its store is of another volume");
	may_change(NFS4R_BIT(4));
	f[0]->eng.runtime.volume.lease_ms = 0;
	assert_int_equal(run("server add 4 127.0.0.4"), 2);
	has("with Lease = 0 the servers of a volume never change");
	f[0]->eng.runtime.volume.lease_ms = 1000;
}

/* All numbers are used: a sixteenth server has none left, and no place. */
static void a_sixteenth_server_is_refused(void **state)
{
	struct nfs4r_rpc_servers before = f[0]->eng.membership.list;

	may_change(NFS4R_BIT(4));
	assert_int_equal(run("server add 16 127.0.0.4"), 2);
	has("give the number of the server, 1 to 15");
	f[0]->eng.membership.list.n = NFS4R_SERVERS_MAX;
	assert_int_equal(run("server add 4 127.0.0.4"), 2);
	has("a volume has at most 15 servers: remove one first");
	f[0]->eng.membership.list = before;
}

static void losing_updates_with_a_server_asks_for_confirmation(void **state)
{
	may_change(NFS4R_BIT(3));
	f[0]->lost = 17;
	assert_int_equal(run("server remove 3 --abandon </dev/null"), 0);
	has("announced 17 updates that no other server is known to have");
	has("Nothing was changed.");
	assert_int_equal(run("--json server remove 3 --abandon"), 2);
	has("cannot ask for confirmation with --json: add --yes");
	assert_int_equal(run("server remove 3 --abandon --yes"), 0);
	hasnt("10.0.0.3");
}

static void the_survivors_go_on(void **state)
{
	may_change(NFS4R_BIT(1) | NFS4R_BIT(2));
	assert_int_equal(run("force-reconfigure 1 2"), 2);
	has("to confirm that, add --the-others-are-off-for-good");
	assert_int_equal(run("force-reconfigure 1 1 --the-others-are-off-for-good"), 2);
	has("each once");
	assert_int_equal(run("force-reconfigure 1 2 --the-others-are-off-for-good"), 0);
	has("From now on the volume has only these servers: 1, 2.");
	has("You confirm that these servers are off for good and never run again with their present stores: 3.");
	has("waiting: forced reconfiguration: server 2 needs the same order");
}

/* Server 3 was stopped a moment ago: it is asked about until @silent, or for ever. */
static void is_heard(bool silent_soon)
{
	pthread_mutex_lock(&f[0]->eng.lock);
	f[0]->may_change = 0;
	f[0]->view.memory = NFS4R_MEMORY_KNOWN;
	f[0]->view.adopted.voters = NFS4R_BIT(1) | NFS4R_BIT(2) | NFS4R_BIT(3);
	f[0]->view.adopted.num = 65;
	f[0]->view.peer[3].known = true;
	f[0]->eng.runtime.volume.silence_ms = 2000;
	f[0]->asked = 0;
	f[0]->silent_after = silent_soon ? 3 : 0;
	pthread_mutex_unlock(&f[0]->eng.lock);
}

#define SAY "force-reconfigure 1 2 --the-others-are-off-for-good "

static void who_was_just_stopped_is_waited_for(void **state)
{
	is_heard(true);
	assert_int_equal(run(SAY), 0);
	has("waiting: do something else. A server that was just stopped counts as heard for a moment; trying again for 3 s.\nFrom now on");
	has("waiting: forced reconfiguration: server 2 needs the same order");
	is_heard(true);
	assert_int_equal(run("--json " SAY), 0);
	assert_int_equal(out[0], '{');
	hasnt("waiting: do");
	is_heard(true);
	assert_int_equal(run("--no-wait --wait 60 " SAY), 0);
	has("trying again for 60 s");
	is_heard(false);
	assert_int_equal(run("--wait 1 " SAY), 2);
	has("trying again for 1 s.\nnfs4rctl: do something else\n");
	assert_true(f[0]->asked > 1);
	/* Not at all: 0, --no-wait, and what time does not mend. */
	is_heard(false);
	assert_int_equal(run("--wait 0 " SAY), 2);
	assert_string_equal(out, "nfs4rctl: do something else\n");
	assert_int_equal(run("--no-wait " SAY), 2);
	f[0]->view.lease_remaining_ms = 5;
	assert_int_equal(run(SAY), 2);
	f[0]->view.lease_remaining_ms = 0;
	assert_int_equal(run("force-reconfigure 1 4 --the-others-are-off-for-good"), 2);
	assert_int_equal(run("force-reconfigure 2 --the-others-are-off-for-good"), 2);
	assert_int_equal(f[0]->asked, 5);
	f[0]->view.peer[3].known = false;
	assert_int_equal(run(SAY), 2);
	assert_int_equal(f[0]->asked, 6);
}

/* A number that no server has is no typing error: which ones there are is said, and nothing is done. */
static void an_unknown_server_is_an_error(void **state)
{
	static const char *const cmds[] = { "abandon 9 --yes", "server remove 9", "--json server remove 9 --abandon --yes" };

	may_change(NFS4R_BIT(9));
	f[0]->may_give_up = 9;
	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		assert_int_equal(run(cmds[i]), 2);
		has("nfs4rctl: server 9 does not belong to this volume: its servers are ");
	}
	assert_int_equal(f[0]->abandoned, 0);
}

/* ---- key ---- */

#define KEY1 "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
#define KEY2 "SHA256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0"

static char prefix[100], fingerprint[NFS4R_FINGERPRINT_TEXT];

static const char *file(const char *ending)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s%s", prefix, ending);
	return path;
}

static void no_files(void)
{
	static const char *const endings[] = { ".key", ".crt", ".key.new", ".crt.new" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		unlink(file(endings[i]));
}

/* `key make` in the folder of the test; the server that is asked has its files there. */
static void make_key(void)
{
	char args[200];
	const char *at;

	snprintf(prefix, sizeof(prefix), "%s/peer", folder);
	snprintf(args, sizeof(args), "key make --files %s", prefix);
	assert_int_equal(run(args), 0);
	at = strstr(out, "Key = \"SHA256:");
	assert_non_null(at);
	snprintf(fingerprint, sizeof(fingerprint), "%s", at + 7);
	f[0]->eng.cfg.rpc.security = NFS4R_SECURITY_TLS;
	snprintf(f[0]->eng.cfg.rpc.tls_key, sizeof(f[0]->eng.cfg.rpc.tls_key), "%s", file(".key"));
	snprintf(f[0]->eng.cfg.rpc.tls_certificate, sizeof(f[0]->eng.cfg.rpc.tls_certificate), "%s", file(".crt"));
}

/* Server 1 is known by this, as its Server block says. */
static void write_key(const char *text)
{
	struct nfs4r_endpoint *e[] = { &f[0]->eng.cfg.rpc.servers[0], &f[0]->eng.membership.list.list[0] };

	for (int i = 0; i < 2; i++) {
		e[i]->nkeys = 1;
		assert_true(nfs4r_fingerprint_parse(text, &e[i]->key[0]));
	}
}

static void a_key_is_made_once(void **state)
{
	struct stat st;
	char args[200];

	make_key();
	assert_int_equal(stat(file(".key"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(file(".crt"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	snprintf(args, sizeof(args), "key make --files %s", prefix);
	assert_int_equal(run(args), 2);
	has("there is a file already");
	snprintf(args, sizeof(args), "key show --files %s", prefix);
	assert_int_equal(run(args), 0);
	has(fingerprint);
	has("signed by itself; does not end");
	unlink(file(".crt"));
	snprintf(args, sizeof(args), "key make --files %s", prefix); /* the key alone is not overwritten either */
	assert_int_equal(run(args), 2);
	has("there is a file already");
	assert_int_equal(stat(file(".crt"), &st), -1);
	assert_int_equal(run("key make --files /nonexistent/peer"), 2);
	has("make its folder first");
	no_files();
}

static void each_made_key_is_another_one(void **state)
{
	char first[NFS4R_FINGERPRINT_TEXT];

	make_key();
	memcpy(first, fingerprint, sizeof(first));
	no_files();
	make_key();
	assert_string_not_equal(first, fingerprint);
	no_files();
}

static void keys_of_all_servers_are_shown(void **state)
{
	make_key();
	assert_int_equal(run("key show"), 0);
	has("the others do not know this server's key");
	has("none: an authority has to vouch for it");
	write_key(fingerprint);
	assert_int_equal(run("key show"), 0);
	hasnt("the others do not know this server's key");
	has("file  SHA256:");
	has("security     tls");
	assert_int_equal(run("--json key show"), 0);
	has("\"keys_from\":\"file\"");
	has("\"self_signed\":true");
	assert_int_equal(run("server list"), 0);
	has("KEY");
	no_files();
	assert_int_equal(run("key show"), 0); /* the server may read what this user may not */
	has("SERVER  ADDRESS");
}

static unsigned known(unsigned server, struct nfs4r_address *a)
{
	*a = f[0]->view.adopted.addresses[server - 1];
	return a->nkeys;
}

static void the_status_says_what_protects_each_connection(void **state)
{
	make_key();
	f[0]->security = NFS4R_SECURITY_TLS;
	assert_int_equal(run("status"), 0);
	has("up, tls");
	hasnt("WARNING");
	assert_int_equal(run("--json status"), 0);
	has("\"security\":\"tls\"");
	has("\"accepts\":[]");
	f[0]->eng.cfg.rpc.security_accept = NFS4R_SECURITY_BIT(NFS4R_SECURITY_NONE) | NFS4R_SECURITY_BIT(NFS4R_SECURITY_TLS);
	assert_int_equal(run("status"), 0);
	has("WARNING     this server accepts connections that prove and protect nothing");
	no_files();
}

static void a_key_is_replaced(void **state)
{
	struct nfs4r_address a;
	char old[NFS4R_FINGERPRINT_TEXT], text[NFS4R_FINGERPRINT_TEXT], args[200];

	make_key();
	memcpy(old, fingerprint, sizeof(old));
	write_key(fingerprint);
	f[0]->keys_wait = 3;
	assert_int_equal(run("key replace"), 0);
	has("The new key is announced");
	has("waiting: server 1: the old key stays until these servers have the new one on their disks: 3");
	has("The new key is in use");
	assert_int_equal(known(1, &a), 1);
	nfs4r_fingerprint_text(&a.keys[0], text);
	has(text);
	assert_string_not_equal(text, old);
	snprintf(args, sizeof(args), "key show --files %s", prefix);
	assert_int_equal(run(args), 0);
	has(text);
	assert_int_not_equal(access(file(".key.new"), F_OK), 0);
	assert_int_equal(run("key show"), 0);
	has("view  SHA256:");
	has("has an old key, which counts for nothing");
	no_files();
}

/* Ended after the announcement: the same new key is announced again, and used. */
static void a_replacement_goes_on_where_it_was(void **state)
{
	struct nfs4r_address a;
	char next[NFS4R_FINGERPRINT_TEXT], text[NFS4R_FINGERPRINT_TEXT];

	make_key();
	write_key(fingerprint);
	assert_int_equal(run("key replace --no-wait"), 0);
	has("Run `nfs4rctl key replace` again to continue");
	assert_int_equal(known(1, &a), 2);
	assert_string_equal(nfs4r_fingerprint_text(&a.keys[0], text), fingerprint);
	nfs4r_fingerprint_text(&a.keys[1], next);
	assert_int_equal(access(file(".crt.new"), F_OK), 0);
	assert_int_equal(rename(file(".key.new"), file(".key")), 0); /* and it died between the two files */
	assert_int_equal(run("key replace"), 0);
	assert_int_equal(known(1, &a), 1);
	assert_string_equal(nfs4r_fingerprint_text(&a.keys[0], text), next);
	assert_int_not_equal(access(file(".crt.new"), F_OK), 0);
	no_files();
}

/* The old key goes when the server has read the new files, and no connection is proved with those of before. */
static void a_replacement_waits_for_the_connections(void **state)
{
	struct nfs4r_address a;

	make_key();
	write_key(fingerprint);
	f[0]->security = NFS4R_SECURITY_TLS;
	f[0]->files_wait = f[0]->renew_wait = 3;
	assert_int_equal(run("key replace"), 0);
	has("waiting: the connections are renewed with the new key");
	assert_int_equal(f[0]->files_wait, 0);
	assert_int_equal(f[0]->renew_wait, 0);
	assert_int_equal(known(1, &a), 1);
	no_files();
}

/* The files are those of the next key, the servers know both, and the old one comes first. @next is filled in. */
static void expect_both_known(const char *old, char next[NFS4R_FINGERPRINT_TEXT])
{
	struct nfs4r_address a;
	char text[NFS4R_FINGERPRINT_TEXT], args[200];

	assert_int_equal(known(1, &a), 2);
	assert_string_equal(nfs4r_fingerprint_text(&a.keys[0], text), old);
	nfs4r_fingerprint_text(&a.keys[1], next);
	snprintf(args, sizeof(args), "key show --files %s", prefix);
	assert_int_equal(run(args), 0);
	has(next);
	hasnt(old);
	assert_int_not_equal(access(file(".key.new"), F_OK), 0);
	assert_int_not_equal(access(file(".crt.new"), F_OK), 0);
}

/* The same command again, when what was in the way is gone: no third key is made. */
static void expect_it_continues(const char *next)
{
	struct nfs4r_address a;
	char text[NFS4R_FINGERPRINT_TEXT];

	assert_int_equal(run("key replace"), 0);
	assert_int_equal(known(1, &a), 1);
	assert_string_equal(nfs4r_fingerprint_text(&a.keys[0], text), next);
}

/* One connection is not renewed for a minute: the command fails, and nothing is lost. */
static void a_connection_that_keeps_the_old_key_keeps_it_known(void **state)
{
	char old[NFS4R_FINGERPRINT_TEXT], next[NFS4R_FINGERPRINT_TEXT], again[NFS4R_FINGERPRINT_TEXT];

	make_key();
	memcpy(old, fingerprint, sizeof(old));
	write_key(fingerprint);
	f[0]->security = NFS4R_SECURITY_TLS;
	f[0]->renew_wait = 1000000;
	assert_int_equal(run_program(hurried, "key replace"), 2);
	has("waiting: the connections are renewed with the new key");
	has("nfs4rctl: 1 connection is still proved with the old key after 60 seconds: the logs of both sides say why. The others know both keys. "
	    "Run `nfs4rctl key replace` again to continue, or with --abandon not to wait for that\n");
	hasnt("is known by");
	assert_in_range(1000000 - f[0]->renew_wait, 110, 130); /* it looks twice a second */
	expect_both_known(old, next);
	assert_int_equal(run_program(hurried, "key replace"), 2); /* nothing has changed */
	has("1 connection is still proved with the old key after 60 seconds");
	expect_both_known(old, again);
	assert_string_equal(again, next);
	f[0]->renew_wait = 3;
	expect_it_continues(next);
	no_files();
}

/* The server cannot read its new files. */
static void a_server_that_keeps_the_old_key_is_known_by_it(void **state)
{
	char old[NFS4R_FINGERPRINT_TEXT], next[NFS4R_FINGERPRINT_TEXT];

	make_key();
	memcpy(old, fingerprint, sizeof(old));
	write_key(fingerprint);
	f[0]->security = NFS4R_SECURITY_TLS;
	f[0]->files_wait = 1000000;
	assert_int_equal(run_program(hurried, "key replace"), 2);
	has("nfs4rctl: the server does not use the new key after 60 seconds: its log says what is wrong with the files. The others know both keys. "
	    "Run `nfs4rctl key replace` again to continue\n");
	hasnt("is known by");
	assert_in_range(1000000 - f[0]->files_wait, 110, 130);
	expect_both_known(old, next);
	assert_int_equal(run_program(hurried, "key replace --abandon"), 2); /* that gives up connections, and not this server */
	has("the server does not use the new key after 60 seconds");
	expect_both_known(old, next);
	f[0]->files_wait = 3;
	expect_it_continues(next);
	no_files();
}

/* With --abandon it waits for no connection. */
static void a_replacement_abandons_connections(void **state)
{
	struct nfs4r_address a;

	make_key();
	write_key(fingerprint);
	f[0]->security = NFS4R_SECURITY_TLS;
	f[0]->renew_wait = 1000000;
	assert_int_equal(run("key replace --abandon"), 0);
	assert_int_equal(known(1, &a), 1);
	f[0]->renew_wait = 0;
	no_files();
}

static void a_certificate_that_ends_is_in_the_status(void **state)
{
	make_key();
	f[0]->security = NFS4R_SECURITY_TLS;
	f[0]->ends_s = time(NULL) + 20 * 86400 + 60;
	assert_int_equal(run("status"), 0);
	has("the certificate of server 2 ends in 20 days");
	assert_int_equal(run("health"), 1);
	has("the certificate of this server ends in 20 days: put a new one into Peer_Certificate");
	has("the certificate of server 2 ends in 20 days");
	f[0]->ends_s = time(NULL) - 60;
	assert_int_equal(run("health"), 1);
	has("the certificate of server 2 has ended");
	f[0]->ends_s = 0;
	assert_int_equal(run("status"), 0);
	hasnt("the certificate of server 2");
	no_files();
}

/* Another view comes first, and the request is asked again. */
static void a_change_that_got_lost_is_asked_again(void **state)
{
	struct nfs4r_address a;

	make_key();
	write_key(fingerprint);
	f[0]->keys_lost = 1;
	assert_int_equal(run("key replace"), 0);
	assert_int_equal(known(1, &a), 1);
	no_files();
}

static void a_lost_key_is_replaced_by_another_server(void **state)
{
	struct nfs4r_address a;
	char text[NFS4R_FINGERPRINT_TEXT];

	make_key();
	assert_int_equal(run("key trust 3 " KEY1), 0);
	has("Server 3 is known by " KEY1 " alone.");
	assert_int_equal(known(3, &a), 1);
	f[0]->keys_wait = 1000000;
	assert_int_equal(run("key trust 3 " KEY2 " --no-wait"), 0);
	assert_int_equal(known(3, &a), 2);
	assert_int_equal(run("key trust 3 " KEY2 " --abandon"), 0);
	assert_int_equal(known(3, &a), 1);
	assert_string_equal(nfs4r_fingerprint_text(&a.keys[0], text), KEY2);
	assert_int_equal(run("key trust 9 " KEY2), 2);
	has("server 9 does not belong to this volume");
	no_files();
}

static void what_cannot_be_replaced_is_said(void **state)
{
	make_key();
	f[0]->eng.cfg.rpc.security = NFS4R_SECURITY_NONE;
	assert_int_equal(run("key replace"), 2);
	has("Peer_Security is not tls");
	f[0]->eng.cfg.rpc.security = NFS4R_SECURITY_TLS;
	unlink(file(".crt"));
	assert_int_equal(run("key replace"), 2);
	has("`nfs4rctl key make` makes it");
	no_files();
}

static void a_server_is_added_with_its_key(void **state)
{
	struct nfs4r_endpoint *e = &f[0]->eng.membership.list.list[3];

	f[0]->may_change = NFS4R_BIT(4);
	f[0]->eng.cfg.rpc.security = NFS4R_SECURITY_TLS;
	assert_int_equal(run("server add 4 127.0.0.4"), 2);
	has("add --key and what `nfs4rctl key make` printed");
	assert_int_equal(run("server add 4 127.0.0.4 --key " KEY1), 0);
	assert_int_equal(e->id, 4);
	assert_int_equal(e->nkeys, 1);
	has("SHA256:47DEQpj8");
}

static void wrong_use_is_answered_with_one_line(void **state)
{
	static const char *const wrong[][2] = {
		{ "", "a command is missing" },
		{ "fly", "there is no command `fly`" },
		{ "give-up 3 --yes", "the command give-up is called abandon now" },
		{ "reconfigure 1 2", "the command reconfigure is called force-reconfigure now" },
		{ "statsu --json", "there is no command `statsu`" },
		{ "status now", "status does not take `now`" },
		{ "verify / /x", "verify does not take `/x`" },
		{ "health 3", "health does not take `3`" },
		{ "--wings status", "there is no option `--wings`" },
		{ "status --wings", "there is no option `--wings`" },
		{ "-x status", "there is no option `-x`" },
		{ "status --json=3", "`--json=3`, or the option takes no value" },
		{ "--socket", "--socket needs a value" },
		{ "status -s", "-s needs a value" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(run(wrong[i][0]), 2);
		has(wrong[i][1]);
		has("see nfs4rctl --help\n");
		assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1); /* one line */
	}
	static const char *const together[][2] = {
		{ "controls --owner three", "the number of a server, 1 to 15" },
		{ "controls --owner 0", "the number of a server, 1 to 15" },
		{ "controls --owner 16", "the number of a server, 1 to 15" },
		{ "controls --owner ' 2'", "the number of a server, 1 to 15" },
		{ "controls --owner 99999999999999999999", "the number of a server, 1 to 15" },
		{ "controls --owner 4294967298", "the number of a server, 1 to 15" },
		{ "status --deep", "belong to the command controls" },
		{ "--json controls --own", "--json gives the whole answer" },
		{ "controls --waiting --deep", "--waiting shows operations" },
		{ "controls --own --owner 2", "not both" },
		{ "abandon", "abandon needs the number of a server" },
		{ "abandon 0", "abandon needs the number of a server" },
		{ "abandon 3x", "abandon needs the number of a server" },
		{ "status --yes", "--yes belongs to the commands abandon, server remove and upgrade finish" },
		{ "--json abandon 3", "cannot ask for confirmation with --json: add --yes" },
		{ "server", "server needs one of: add N HOST[:PORT], remove N, list" },
		{ "server fly", "server needs one of" },
		{ "server list 3", "server needs one of" },
		{ "server add", "give the number of the server" },
		{ "server add 4", "server add needs a number and an address" },
		{ "server add 4 host:0", "server add needs a number and an address" },
		{ "server add 4 host:1x", "server add needs a number and an address" },
		{ "server add 4 [::1", "server add needs a number and an address" },
		{ "server add 4 :99", "server add needs a number and an address" },
		{ "server add four host", "give the number of the server" },
		{ "server add 4 host --abandon", "belong to server remove" },
		{ "server remove 3 --give-up", "--give-up is called --abandon now" },
		{ "server remove 3 4", "the number of one server" },
		{ "server list --no-wait", "no option but --json" },
		{ "server list --key " KEY1, "--key belongs to server add" },
		{ "server add 4 host --key SHA256:nine", "--key needs a fingerprint" },
		{ "status --key " KEY1, "--key belongs to the command server add" },
		{ "key", "key needs one of" },
		{ "key lose", "key needs one of" },
		{ "key make more", "key needs one of" },
		{ "key trust 3", "key needs one of" },
		{ "key trust 99 " KEY1, "give the number of the server" },
		{ "key trust 3 SHA256:nine", "that is no fingerprint" },
		{ "key replace --files /x", "--files belongs to key make and key show" },
		{ "key show --no-wait", "--no-wait and --abandon belong to key replace" },
		{ "key show --yes", "key has the options" },
		{ "status --files /x", "--files belongs to key make and key show" },
		{ "server remove 3 --the-others-are-off-for-good", "belong to the command force-reconfigure" },
		{ "force-reconfigure", "force-reconfigure needs the numbers of all surviving servers" },
		{ "force-reconfigure 1 16", "force-reconfigure needs numbers of servers" },
		{ "force-reconfigure none --no-wait", "takes no option" },
		{ "force-reconfigure 1 --abandon", "force-reconfigure has the options" },
		{ "force-reconfigure 1 --wait 1s", "--wait needs a number of seconds, 0 to 3600" },
		{ "force-reconfigure 1 --wait 3601", "--wait needs a number of seconds, 0 to 3600" },
		{ "force-reconfigure 1 --wait -1", "--wait needs a number of seconds, 0 to 3600" },
		{ "force-reconfigure none --wait 0", "takes no option" },
		{ "server list --wait 1", "--wait belong to the command force-reconfigure" },
		{ "status --wait 1", "belong to the commands set, server, upgrade and force-reconfigure" },
		{ "status --no-wait", "belong to the commands set, server, upgrade and force-reconfigure" },
		{ "server list --deep", "belong to the command controls" },
		{ "status --max-lag 3", "--max-lag belongs to the command health" },
		{ "server list --max-lag 3", "--max-lag belongs to the command health" },
		{ "health --max-lag 3s", "--max-lag needs a number of seconds" },
		{ "health --max-lag -1", "--max-lag needs a number of seconds" },
		{ "health --yes", "--yes belongs to the commands abandon, server remove and upgrade finish" },
	};

	for (size_t i = 0; i < sizeof(together) / sizeof(together[0]); i++) {
		assert_int_equal(run(together[i][0]), 2);
		has(together[i][1]);
	}
	assert_int_equal(run("--help"), 0);
	has("Exit status");
	assert_int_equal(run("--version"), 0);
	assert_ptr_equal(strstr(out, "nfs4rctl 0."), out);
	has("+"); /* the commit */
	has(", protocol ");
}

static void health_is_one_line_and_an_exit_status(void **state)
{
	assert_int_equal(run("health"), 0);
	assert_string_equal(out, "OK: volume home, server 1: serves\n");
	assert_int_equal(run("--json health"), 0);
	has("\"health\":\"OK\",\"serves\":true");
	pthread_mutex_lock(&f[0]->lock);
	f[0]->up[3] = false;
	pthread_mutex_unlock(&f[0]->lock);
	assert_int_equal(run("health --max-lag 5"), 1);
	assert_string_equal(out, "WARNING: volume home, server 1: serves; no connection with server 3 (connecting)\n");
	pthread_mutex_lock(&f[0]->eng.lock);
	snprintf(f[0]->eng.runtime.halt.why, sizeof(f[0]->eng.runtime.halt.why), "the disk is full");
	pthread_mutex_unlock(&f[0]->eng.lock);
	assert_int_equal(run("health"), 2);
	assert_string_equal(out, "CRITICAL: volume home, server 1: halted: the disk is full; no connection with server 3 (connecting)\n");
	assert_int_equal(run("--json health"), 2);
	assert_int_equal(run("--socket /nonexistent health"), 2);
	has("CRITICAL: /nonexistent is not there: no server seems to run here");
}

/* A process that holds the lock of a pid file beside the socket, as the daemon does. */
static pid_t daemon_beside(const char *dir)
{
	char path[200];
	int ready[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/data.pid", dir);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct flock lk = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int fd = open(path, O_RDWR | O_CREAT, 0644);

		if (fd < 0 || fcntl(fd, F_SETLK, &lk) != 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], path, 1), 1);
	close(ready[0]);
	return pid;
}

/* A start that waits for room (log 4.15): another open file of this process counts as another process's lock. */
static void a_daemon_that_waits_says_why(const char *path, const char *args)
{
	struct nfs4r_config cfg = { 0 };
	char health[300], left[300];
	int fd = -1, kept;

	snprintf(cfg.control_socket, sizeof(cfg.control_socket), "%s", path);
	snprintf(health, sizeof(health), "--socket %s health", path);
	nfs4r_start_waits(&cfg, &fd, "something else, and longer than what comes next");
	nfs4r_start_waits(&cfg, &fd, "the disk under Store is full");
	assert_int_equal(run(args), 2);
	has("the server waits before it starts, and will continue by itself: the disk under Store is full\n");
	assert_int_equal(run(health), 2);
	has("CRITICAL: ");
	has("the disk under Store is full\n");
	nfs4r_start_goes_on(&cfg, &fd);
	assert_int_equal(fd, -1);
	assert_int_equal(run(args), 2);
	hasnt("waits before it starts");
	snprintf(left, sizeof(left), "%s" NFS4R_WAITS, path); /* as after a SIGKILL */
	kept = open(left, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(kept, "long ago", 8), 8);
	assert_int_equal(run(args), 2);
	hasnt("long ago");
	close(kept);
	assert_int_equal(unlink(left), 0);
}

static void a_daemon_that_runs_is_not_to_be_started(void **state)
{
	char dir[] = "/tmp/nfs4r-run.XXXXXX", args[300], path[200], why[CTL_WHY];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int dead = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dead.sock", dir);
	assert_int_equal(bind(dead, (struct sockaddr *)&addr, sizeof(addr)), 0);
	snprintf(args, sizeof(args), "--socket %s status", addr.sun_path);
	assert_int_equal(run(args), 2);
	has("is left over from a server that has ended: no server seems to run here; start it");
	a_daemon_that_waits_says_why(addr.sun_path, args);
	pid = daemon_beside(dir);
	assert_int_equal(run(args), 2);
	has("but a server runs (process ");
	hasnt("start it");
	unlink(addr.sun_path);
	assert_int_equal(run(args), 2);
	has("is not there, but a server runs (process ");
	assert_false(ctl_find_socket(NULL, dir, path, sizeof(path), why));
	assert_non_null(strstr(why, "but a server runs (process "));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(run(args), 2); /* its pid file is still there */
	has("start it");
	close(dead);
	snprintf(path, sizeof(path), "%s/data.pid", dir);
	unlink(path);
	rmdir(dir);
}

static void a_server_that_is_not_there_is_explained(void **state)
{
	char path[200], why[CTL_WHY] = "", args[300];

	assert_int_equal(run("--socket /nonexistent status"), 2);
	has("no server seems to run here");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	snprintf(args, sizeof(args), "--socket /%s status", path);
	assert_int_equal(run(args), 2);
	has("at most 107 bytes");

	assert_true(ctl_find_socket("/from/env", "/nowhere", path, sizeof(path), why));
	assert_string_equal(path, "/from/env");
	assert_true(ctl_find_socket(NULL, folder, path, sizeof(path), why));
	assert_non_null(strstr(path, "/1.sock"));
	assert_false(ctl_find_socket("", "/nowhere", path, sizeof(path), why));
	assert_non_null(strstr(why, "there is no socket in /nowhere: no server seems to run here"));
	snprintf(path, sizeof(path), "%s/2.sock", folder);
	fclose(fopen(path, "w"));
	assert_false(ctl_find_socket(NULL, folder, args, sizeof(args), why));
	assert_non_null(strstr(why, "choose one with --socket"));
	unlink(path);
}

/* ---- a socket that answers the one request of each connection with fixed bytes and hangs up ---- */

struct liar {
	int fd;
	char path[108];
	pthread_t thread;
	const char *answer[2];
	char heard[2][256];
};

static void *lie(void *arg)
{
	struct liar *l = arg;

	for (int i = 0; i < 2 && l->answer[i]; i++) {
		int fd = accept(l->fd, NULL, NULL);

		if (fd < 0)
			break;
		(void)!read(fd, l->heard[i], sizeof(l->heard[i]) - 1);
		if (i == 1 || !l->answer[1])
			shutdown(l->fd, SHUT_RDWR); /* nobody is answered any more */
		(void)!write(fd, l->answer[i], strlen(l->answer[i]));
		close(fd);
	}
	return NULL;
}

static void liar_start(struct liar *l, const char *first, const char *second)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	*l = (struct liar){ .fd = socket(AF_UNIX, SOCK_STREAM, 0), .answer = { first, second } };
	snprintf(l->path, sizeof(l->path), "%s/liar", folder);
	memcpy(addr.sun_path, l->path, sizeof(l->path));
	assert_int_equal(bind(l->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(l->fd, 1), 0);
	pthread_create(&l->thread, NULL, lie, l);
}

static void liar_stop(struct liar *l)
{
	shutdown(l->fd, SHUT_RDWR); /* it waits no longer */
	pthread_join(l->thread, NULL);
	close(l->fd);
	unlink(l->path);
}

static void a_server_that_lies_is_explained(void **state)
{
	static const struct {
		const char *answer, *args, *said;
		int rc;
	} cases[] = {
		{ "", "status", "before its answer was complete", 2 },
		{ "HTTP/1.1 200 OK\r\n\r\n", "status", "does not belong to an NFSv4.r server", 2 },
		{ "[1]\n", "stats", "does not belong to an NFSv4.r server", 2 },
		{ "{\"error\":\"out of \\u001bmemory\"}\n", "controls", "nfs4rctl: out of \\033memory", 2 },
		{ "{\"progress\":{}}\n", "verify", "before its answer was complete", 2 },
		{ "{\"result\":{\"status\":99}}\n", "verify", "equal", 2 },
		{ "{\"error\":\"no\"}\n", "--json verify", "{\"error\":\"no\"}", 2 },
		{ "{}\n", "status", "volume", 0 },
		{ "{}\n", "controls", "nfs4rctl: the answer has no list of controls", 2 },
		{ "{\"controls\":[]}\n", "controls --waiting", "older than this tool", 2 },
		{ "{}\n", "stats", "nfs4rctl: the answer has no counters", 2 },
		{ "{\"controls\":[{\"owner\":1", "controls", "before its answer was complete", 2 },
		{ "{\"controls\":[{\"owner\":1\n", "controls", "answer is damaged", 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct liar l;
		char args[300];

		liar_start(&l, cases[i].answer, NULL);
		snprintf(args, sizeof(args), "--socket %s %s", l.path, cases[i].args);
		assert_int_equal(run(args), cases[i].rc);
		has(cases[i].said);
		liar_stop(&l);
	}
}

/* Who thinks for half a minute finds the connection ended by the server, who waits no longer for a request. */
static void an_answer_may_take_long(void **state)
{
	static const struct {
		const char *args, *first, *second, *said;
	} cases[] = {
		{ "abandon 3", "{\"lost_entries\":17}\n", "{\"lost_entries\":18,\"abandoned\":true}\n", "Server 3 is abandoned, with 18 updates" },
		{ "abandon 3", "{\"lost_entries\":17}\n", "{\"error\":\"it is a member\"}\n", "nfs4rctl: it is a member" },
		{ "abandon 3", "{\"lost_entries\":17}\n", NULL, "is left over from a server that has ended" },
		{ "server remove 3 --abandon --no-wait", "{\"lost_entries\":17}\n", "{\"removing\":true}\n", "The request is accepted" },
		{ "server remove 3 --abandon --no-wait", "{\"lost_entries\":17}\n", "{\"error\":\"it is busy\"}\n", "nfs4rctl: it is busy" },
		{ "server remove 3 --abandon --no-wait", "{\"lost_entries\":17}\n", NULL, "is left over from a server that has ended" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct liar l;
		char cmd[300];
		bool done = cases[i].second && !strstr(cases[i].second, "error");

		liar_start(&l, cases[i].first, cases[i].second);
		snprintf(cmd, sizeof(cmd), "--socket %s %s", l.path, cases[i].args);
		int rc = answered(cmd, "yes\n");
		liar_stop(&l);
		has(cases[i].said);
		assert_int_equal(rc, done ? 0 : 2);
		assert_non_null(strstr(l.heard[0], "\"yes\":false"));
		assert_true(!cases[i].second || strstr(l.heard[1], "\"yes\":true"));
	}
}

/* The mode of the socket keeps others out; even if somebody opens it up, the server asks the kernel who it is. */
static void others_are_refused(void **state)
{
	char path[200], why[CTL_WHY] = "";
	int rc;

	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/1.sock", folder);
	assert_int_equal(chmod(folder, 0755), 0);
	for (int opened = 0; opened < 2; opened++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
				_exit(9);
			struct ctl_conn *c = ctl_connect(path, why);

			if (!c)
				_exit(strstr(why, "only root") ? 0 : 1);
			json_t *a = ctl_ask(c, "status", NULL, 10, why) ? ctl_next(c, why) : NULL;
			_exit(opened && a && strstr(get_text(a, "error"), "only root") ? 0 : 2);
		}
		assert_int_equal(waitpid(pid, &rc, 0), pid);
		assert_int_equal(rc, 0);
		assert_int_equal(chmod(path, 0666), 0);
	}
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
		T(status_is_a_short_table),
		T(json_is_one_object),
		T(controls_and_stats_are_shown),
		T(verify_tells_by_its_exit_status),
		T(abandoning_a_server_asks_for_confirmation),
		T(the_servers_are_a_short_table),
		T(a_server_is_added_and_taken_out),
		T(an_upgrade_is_finished),
		T(a_setting_is_changed),
		T(a_refusal_is_the_servers_sentence),
		T(a_sixteenth_server_is_refused),
		T(losing_updates_with_a_server_asks_for_confirmation),
		T(the_survivors_go_on),
		T(who_was_just_stopped_is_waited_for),
		T(an_unknown_server_is_an_error),
		T(health_is_one_line_and_an_exit_status),
		T(a_key_is_made_once),
		T(each_made_key_is_another_one),
		T(keys_of_all_servers_are_shown),
		T(the_status_says_what_protects_each_connection),
		T(a_key_is_replaced),
		T(a_replacement_goes_on_where_it_was),
		T(a_replacement_waits_for_the_connections),
		T(a_connection_that_keeps_the_old_key_keeps_it_known),
		T(a_server_that_keeps_the_old_key_is_known_by_it),
		T(a_replacement_abandons_connections),
		T(a_certificate_that_ends_is_in_the_status),
		T(a_change_that_got_lost_is_asked_again),
		T(a_lost_key_is_replaced_by_another_server),
		T(what_cannot_be_replaced_is_said),
		T(a_server_is_added_with_its_key),
		T(wrong_use_is_answered_with_one_line),
		T(a_daemon_that_runs_is_not_to_be_started),
		T(a_server_that_is_not_there_is_explained),
		T(a_server_that_lies_is_explained),
		T(an_answer_may_take_long),
		T(others_are_refused),
	};

	if (argc < 3) {
		fprintf(stderr, "usage: %s PATH-OF-nfs4rctl PATH-OF-nfs4rctl_hurried\n", argv[0]);
		return 2;
	}
	tool = argv[1];
	hurried = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
