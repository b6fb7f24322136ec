/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Inputs to start from, made anew for each run out of what the tree has now: the messages of the golden vectors, a store that was used, requests, answers that the
 * tests of nfs4rctl keep, configurations.
 *
 * Usage: fuzz_seeds FOLDER SHOW. FOLDER/NAME/ is made for each target; SHOW is tests/unit/ctl/show.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "rpc/rpc.h"
#include "store/internal.h"
#include "unit/proto/vectors.h"
#include "xdr_map.h"

static const char *folder;

struct out {
	uint8_t b[65536];
	size_t len;
};

static void put(struct out *o, const void *bytes, size_t len)
{
	FUZZ_CHECK(len <= sizeof(o->b) - o->len);
	memcpy(o->b + o->len, bytes, len);
	o->len += len;
}

static void put_u8(struct out *o, uint8_t v)
{
	put(o, &v, 1);
}

static void put_u16(struct out *o, size_t v)
{
	put_u8(o, (uint8_t)(v >> 8));
	put_u8(o, (uint8_t)v);
}

static void save(const char *target, const char *name, const struct out *o)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, target);
	FUZZ_CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/%s/seed-%s", folder, target, name);
	for (char *p = path + strlen(path) - strlen(name); (p = strchr(p, '/'));)
		*p = '-'; /* a vector of a later protocol */
	f = fopen(path, "wb");
	FUZZ_CHECK(f && fwrite(o->b, 1, o->len, f) == o->len && fclose(f) == 0);
}

/* ---- record ---- */

static void put_record(struct out *o, uint8_t conn, const struct nfs4r_buf *b)
{
	uint32_t mark = htonl(0x80000000 | b->len);

	put_u8(o, conn);
	put_u16(o, 4 + b->len);
	put(o, &mark, 4);
	put(o, b->data, b->len);
}

static void put_transport(struct out *o, uint8_t conn, const struct nfs4r_transport_msg_body *m)
{
	struct nfs4r_buf *b = nfs4r_transport_msg_encode(m);

	put_record(o, conn, b);
	nfs4r_buf_put(b);
}

/* Over connection 0 and, as lane BULK wants it, with its number over 2. */
static void record_seed(const struct vector *v, const struct nfs4r_buf *b)
{
	struct nfs4r_transport_msg_body number = { .type = NFS4R_MSG_NUMBER, .number = 1 };
	struct out o = { .len = 0 };

	put_u8(&o, 3);
	put_record(&o, v->kind == VECTOR_TRANSPORT ? 8 : 0, b);
	if (v->kind == VECTOR_MSG)
		put_transport(&o, 2, &number);
	put_record(&o, 2, b);
	save("record", v->name, &o);
}

/* Server 3 connects all its lanes to server 2 (@called: server 2 called server 1, which answers), as fuzz_record.c has them. */
static void hello_seed(const char *name, bool called)
{
	struct out o = { .len = 0 };

	put_u8(&o, called ? 4 : 0);
	for (uint8_t i = 0; i < 4; i++) {
		struct nfs4r_transport_msg_body m = { .type = NFS4R_MSG_HELLO }, alive = { .type = NFS4R_MSG_KEEPALIVE };
		struct nfs4r_hello *h = &m.hello;

		h->magic = NFS4R_HELLO_MAGIC;
		h->protocol = (struct nfs4r_versions){ NFS4R_PROTOCOL_LOWEST, NFS4R_PROTOCOL_VERSION };
		h->server = called ? 1 : 3;
		h->to = 2;
		h->lane = i < NFS4R_LANE_BULK ? i : NFS4R_LANE_BULK;
		h->index = i - h->lane;
		h->inc = 1;
		h->session = called ? 0 : 1;
		h->security = NFS4R_SECURITY_NONE;
		h->nservers = 3;
		for (uint32_t k = 0; k < 3; k++) {
			h->servers[k].id = (nfs4r_server_id)(k + 1);
			h->servers[k].port = 2050;
		}
		h->nkeys = 1;
		strcpy(h->keys[0].key, "Key");
		strcpy(h->keys[0].value, "value");
		put_transport(&o, i, &m);
		put_transport(&o, i, &alive);
	}
	save("record", name, &o);
}

/* ---- tls, krb5 ---- */

/* Pieces as stranger.c has them, by their numbers there. */
static void stranger_seed(const char *name, uint8_t flags, uint8_t variant, const void *pieces, size_t len)
{
	struct out o = { .len = 0 };
	char numbered[64];

	put_u8(&o, flags);
	put_u8(&o, variant);
	put(&o, pieces, len);
	snprintf(numbered, sizeof(numbered), "%s-%02x-%u", name, flags, variant);
	save("krb5", numbered, &o);
	if (variant == 0)
		save("tls", numbered, &o);
}

#define PIECES(text) text, sizeof(text) - 1

/* One that departs from what a peer does after @before pieces. */
static void departures(uint8_t flags, uint8_t before)
{
	static const struct {
		const char *name, *pieces;
		size_t len;
	} all[] = {
		{ "bent-inside", PIECES("\1\1\0\44\1\0\0") },
		{ "bent", PIECES("\2\1\0\44\1\0") },
		{ "cut", PIECES("\2\4\0\1\0") },
		{ "longer", PIECES("\2\10\7\0") },
		{ "halves", PIECES("\17\0") },
		{ "again", PIECES("\7\0") },
		{ "left-out", PIECES("\6\0\0") },
		{ "raw", PIECES("\4\0\4\0\0\0\1") },
		{ "bytes", PIECES("\5\0\5\200\0\0\1\1") },
		{ "said", PIECES("\3\0\4\0\0\0\1\0") },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char pieces[32] = "", name[32];

		memcpy(pieces + before, all[i].pieces, all[i].len);
		snprintf(name, sizeof(name), "%s-%u", all[i].name, before);
		stranger_seed(name, flags, 0, pieces, before + all[i].len);
		stranger_seed(name, flags, 7, pieces, before + all[i].len);
	}
}

/* From each side, up or not, each of those who may be there. A peer that does all as it should; then one that departs from it, each time a step later. */
static void stranger_seeds(void)
{
	for (uint8_t who = 0; who < 4; who++)
		for (uint8_t variant = 0; variant < 8; variant++) {
			stranger_seed("called", who, variant, PIECES("\0\0\0\0\0\0"));
			stranger_seed("calls", 0x20 | who, variant, PIECES("\0\0\0\0\0\0"));
			stranger_seed("renewed", (uint8_t)(0x10 | who << 2 | who << 6), variant, PIECES("\0\0\0\0\0\0\0\0"));
			stranger_seed("asked", (uint8_t)(0x30 | who << 2 | who << 6), variant, PIECES("\0\0\0\0\0\0\0\0"));
			stranger_seed("late", (uint8_t)(0x10 | who << 6), variant, PIECES("\10\10\0\10\10\0"));
		}
	for (uint8_t up = 0; up < 4; up++)
		for (uint8_t before = 0; before < 4; before++)
			departures((uint8_t)(up << 4), before);
}

/* ---- answer ---- */

static void put_message(struct out *o, const struct nfs4r_msg *m)
{
	struct nfs4r_buf *b = nfs4r_msg_encode(m, NFS4R_PROTOCOL_VERSION);

	put_u16(o, b->len);
	put(o, b->data, b->len);
	nfs4r_buf_put(b);
}

/* The numbers of fuzz_answer.c's enum call. */
static void read_seed(const char *name, uint8_t call, uint32_t type, const char *data, uint32_t len, const char *entry)
{
	struct nfs4r_dirent d = { .oid = { { 2 } }, .type = NFS4R_TYPE_FILE, .cookie = 100 };
	struct nfs4r_read r = { .type = type, .id = 1, .result = { { 2 } }, .eof = true, .status = NFS4R_OK };
	struct nfs4r_msg m = { .type = NFS4R_MSG_READ_ANSWER, .read = &r };
	struct nfs4r_read attrs = { .type = NFS4R_RD_GETATTR, .status = NFS4R_OK };
	static const uint8_t acl[28] = { 0, 0, 0, 1, 0, 0, 0, 1 };
	struct out o = { .len = 0 };

	r.attrs.mask = attrs.attrs.mask = NFS4R_ATTR_TYPE | NFS4R_ATTR_MODE | NFS4R_ATTR_SIZE | NFS4R_ATTR_VERSION | NFS4R_ATTR_ACL;
	r.attrs.type = attrs.attrs.type = NFS4R_TYPE_FILE;
	r.attrs.version = attrs.attrs.version = 0x10000000001;
	r.attrs.acl = nfs4r_buf_copy(acl, sizeof(acl));
	attrs.attrs.acl = nfs4r_buf_copy(acl, sizeof(acl));
	if (type != NFS4R_RD_LOOKUP && type != NFS4R_RD_GETATTR) {
		nfs4r_buf_put(r.attrs.acl);
		r.attrs = (struct nfs4r_attrs){ .mask = 0 };
	}
	if (data)
		r.data = nfs4r_buf_copy(data, len);
	if (entry) {
		nfs4r_name_set(&d.name, entry, strlen(entry));
		r.ndirents = 1;
		r.dirents = &d;
	}
	put_u8(&o, call);
	put_u8(&o, 100);
	put_message(&o, &m);
	m.read = &attrs;
	if (entry)
		put_message(&o, &m);
	save("answer", name, &o);
	nfs4r_buf_put(r.attrs.acl);
	nfs4r_buf_put(attrs.attrs.acl);
	nfs4r_buf_put(r.data);
}

static void update_seed(const char *name, uint8_t call, uint32_t type, uint32_t made)
{
	struct nfs4r_op op = { .type = type, .id = { .origin = 1, .seq = 1 }, .status = NFS4R_OK, .result_type = made, .lsn = 1, .primary = 2, .dir_before = 1, .dir_after = 2 };
	struct nfs4r_msg m = { .type = NFS4R_MSG_FORWARD_ANSWER, .op = &op };
	struct out o = { .len = 0 };

	op.result.b[0] = made ? 2 : 0;
	put_u8(&o, call);
	put_u8(&o, 0);
	put_message(&o, &m);
	save("answer", name, &o);
}

static void answer_seeds(void)
{
	read_seed("lookup", 3, NFS4R_RD_LOOKUP, NULL, 0, NULL);
	read_seed("parent", 4, NFS4R_RD_LOOKUPP, NULL, 0, NULL);
	read_seed("readdir", 5, NFS4R_RD_READDIR, NULL, 0, "name");
	read_seed("readlink", 6, NFS4R_RD_READLINK, "target", 6, NULL);
	read_seed("getxattr", 7, NFS4R_RD_GETXATTR, "value", 5, NULL);
	read_seed("listxattr", 8, NFS4R_RD_LISTXATTR, "user.a\0trusted.b\0user.c", 24, NULL);
	read_seed("read", 9, NFS4R_RD_READ, "twenty bytes of data", 20, NULL);
	update_seed("mkdir", 10, NFS4R_OP_MKDIR, NFS4R_TYPE_DIR);
	update_seed("symlink", 11, NFS4R_OP_SYMLINK, NFS4R_TYPE_SYMLINK);
	update_seed("rename", 12, NFS4R_OP_RENAME, 0);
	update_seed("setxattr", 13, NFS4R_OP_SETXATTR, 0);
}

static void vector_seeds(void)
{
	for (unsigned i = 0; i < vector_count; i++) {
		const struct vector *v = &vectors[i];
		struct nfs4r_buf *b = vector_encode(v);
		struct out o = { .len = 0 };

		put_u8(&o, v->kind == VECTOR_MSG ? 0 : v->kind == VECTOR_JOURNAL ? 1 :
										   2);
		put_u8(&o, v->protocol >= NFS4R_PROTOCOL_LOCKS);
		put(&o, b->data, b->len);
		save("answer", v->name, &o);
		if (v->kind != VECTOR_JOURNAL && v->protocol < NFS4R_PROTOCOL_LOCKS)
			record_seed(v, b);
		nfs4r_buf_put(b);
	}
}

/* ---- store ---- */

static int files_synced(void *arg)
{
	return 0;
}

/* Entries, marks, a handle, rows of the core, a seal, an object as another server has it. */
static void use_store(struct nfs4r_store *s, bool locks)
{
	static const struct nfs4r_file_lock list[2] = { { .lock = { .type = NFS4R_LOCK_READ, .last = 9 }, .holder = 1 }, { .lock = { .type = NFS4R_LOCK_WRITE, .start = 10, .last = UINT64_MAX }, .holder = 1 } };
	struct nfs4r_put row = { .key_len = 1, .val_len = 3 };
	struct nfs4r_install in = { .row = { .version = 2, .type = NFS4R_TYPE_FILE, .nlink = 1, .nparents = 1, .last_log = 2, .last_lsn = 1 }, .handle_len = 3 };
	struct nfs4r_entry *e;
	nfs4r_journal_pos pos;
	struct nfs4r_oid oid;
	struct nfs4r_row root;

	row.key[0] = 'X';
	FUZZ_CHECK(nfs4r_store_put(s, &row, 1) == NFS4R_OK);
	for (unsigned i = 0; i < vector_count; i++) {
		if (vectors[i].kind != VECTOR_JOURNAL)
			continue;
		for (int own = 0; own < 2; own++) {
			struct nfs4r_buf *b = vector_encode(&vectors[i]);
			const char *why;

			FUZZ_CHECK(nfs4r_entry_decode(b->data, b->len, false, &e, &why) == NFS4R_OK);
			nfs4r_buf_put(b);
			e->log = own ? 1 : 3;
			if (e->joined.pid.server)
				e->joined.pid.server = e->log;
			e->lsn = 1 + (vectors[i].name[8] == 'w');
			(void)(own ? nfs4r_store_intent(s, e, &pos) : nfs4r_store_mark(s, e, &pos));
			if (!own)
				(void)nfs4r_store_begin(s, e);
			(void)nfs4r_store_commit(s, e, own, &row, 1);
			nfs4r_entry_put(e);
		}
	}
	nfs4r_store_oid_watermark(s, &oid);
	nfs4r_oid_root(&in.row.parents[0], (const uint8_t *)"volume-for-tests");
	FUZZ_CHECK(nfs4r_store_row(s, &in.row.parents[0], &root) == NFS4R_KNOWN);
	in.row.parent_names[0] = 1;
	in.oid = oid;
	if (locks) {
		in.nlocks = 2;
		in.locks = list;
	}
	(void)nfs4r_store_install(s, &in);
	(void)nfs4r_store_set_handle(s, &oid, "handle", 6);
	(void)nfs4r_store_seal(s, 2, 0x10000000001);
}

static void put_item(struct out *o, uint8_t item, const void *a, size_t a_len, const void *b, size_t b_len)
{
	if (a_len + b_len > UINT16_MAX || o->len + a_len + b_len + 3 > sizeof(o->b))
		return;
	put_u8(o, item);
	put_u16(o, a_len + b_len);
	put(o, a, a_len);
	put(o, b, b_len);
}

static void put_records(struct out *o, const char *path)
{
	static uint8_t bytes[1 << 20];
	int fd = open(path, O_RDONLY);
	ssize_t len = read(fd, bytes, sizeof(bytes));
	struct nfs4r_rec_view rec;
	size_t total;

	close(fd);
	for (size_t at = SEG_HEADER; at < (size_t)len && store_rec_parse(bytes + at, (size_t)len - at, at, &rec, &total); at += total) {
		uint8_t type[2] = { (uint8_t)(rec.type >> 8), (uint8_t)rec.type };

		put_item(o, 0, type, 2, rec.body, rec.len);
	}
}

static void put_databases(struct out *o, const char *path)
{
	static const char *const names[] = { "meta", "rows", "names", "cookies", "handles", "core", "marks" };
	MDB_val key, val;
	MDB_cursor *c;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	FUZZ_CHECK(mdb_env_create(&env) == 0 && mdb_env_set_maxdbs(env, 8) == 0 && mdb_env_open(env, path, MDB_RDONLY | MDB_NOLOCK, 0) == 0);
	FUZZ_CHECK(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0);
	for (uint8_t i = 0; i < 7; i++) {
		FUZZ_CHECK(mdb_dbi_open(txn, names[i], 0, &dbi) == 0 && mdb_cursor_open(txn, dbi, &c) == 0);
		while (mdb_cursor_get(c, &key, &val, MDB_NEXT) == 0) {
			uint8_t all[1024] = { i, (uint8_t)key.mv_size };

			FUZZ_CHECK(key.mv_size < 512);
			memcpy(all + 2, key.mv_data, key.mv_size);
			put_item(o, 4, all, 2 + key.mv_size, val.mv_data, val.mv_size);
			if (i == 1) /* as a row, too */
				put_item(o, 5, key.mv_data, key.mv_size, val.mv_data, val.mv_size);
		}
		mdb_cursor_close(c);
	}
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void store_seed(const char *name, bool checkpoint, uint8_t flags, bool locks)
{
	struct nfs4r_store_config cfg = { .self = 1, .map_bytes = 1 << 20, .boot_id = "boot-1" };
	nfs4r_lsn stable[NFS4R_SERVERS_MAX + 1];
	struct nfs4r_store_info info;
	char dir[256], path[512], why[NFS4R_WHY], rm[300];
	struct nfs4r_store *s;
	struct out o = { .len = 0 };

	memcpy(cfg.volume, "volume-for-tests", 16);
	snprintf(dir, sizeof(dir), "%s/store-XXXXXX", folder);
	FUZZ_CHECK(mkdtemp(dir));
	cfg.dir = dir;
	if (locks)
		cfg.formats = (struct nfs4r_versions){ NFS4R_DISK_FORMAT_LOCKS, NFS4R_DISK_FORMAT_LOCKS };
	FUZZ_CHECK(nfs4r_store_open(&cfg, &s, &info, why) == NFS4R_OK);
	use_store(s, locks);
	if (checkpoint)
		(void)nfs4r_store_checkpoint(s, files_synced, NULL, stable);
	nfs4r_store_leave(s);
	put_u8(&o, flags);
	if (checkpoint) {
		snprintf(path, sizeof(path), "%s/lmdb", dir);
		put_databases(&o, path);
	}
	snprintf(path, sizeof(path), "%s/journal-0000000000000000", dir);
	put_records(&o, path);
	save("store", name, &o);
	snprintf(rm, sizeof(rm), "rm -r '%s'", dir);
	FUZZ_CHECK(system(rm) == 0);
}

/* ---- text ---- */

static void text_seed(const char *target, const char *name, const char *head, size_t head_len, const char *text)
{
	struct out o = { .len = 0 };

	put(&o, head, head_len);
	put(&o, text, strlen(text));
	save(target, name, &o);
}

static const char *const requests[] = {
	"{\"cmd\":\"status\"}\n",
	"{\"cmd\":\"controls\"}\n",
	"{\"cmd\":\"stats\"}\n",
	"{\"cmd\":\"servers\"}\n",
	"{\"cmd\":\"verify\",\"path\":\"/file\"}\n",
	"{\"cmd\":\"repair\",\"path\":\"/\",\"from\":2,\"dry_run\":true}\n",
	"{\"cmd\":\"add-server\",\"server\":4,\"host\":\"10.0.0.4\",\"port\":2050,\"yes\":true}\n",
	"{\"cmd\":\"remove-server\",\"server\":3,\"abandon\":true,\"yes\":true}\n",
	"{\"cmd\":\"force-reconfigure\",\"servers\":[1,2],\"yes\":true}\n",
	"{\"cmd\":\"abandon\",\"server\":3,\"yes\":true}\n",
	"{\"cmd\":\"keys\"}\n",
	"{\"cmd\":\"set-keys\",\"server\":3,\"keys\":[\"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\"],\"abandon\":true}\n",
	"{\"cmd\":\"settings\"}\n",
	"{\"cmd\":\"set\",\"key\":\"Durability\",\"value\":\"majority\"}\n",
	"{\"cmd\":\"finish-upgrade\",\"yes\":true}\n",
};

static const char *const configs[] = {
	"Server=2,2050,10.0.0.2\nServer=3,2050,::1\nLease=2000\nSilence=1000\n",
	"Durability=majority\nVolume_UUID=6f0e1c52-0b8f-4f7c-9b0a-1f7f3f1f5a12\nConflicts=/conflicts\n",
	"Retention_Bytes=268435456\nRetention_Time=3600\nFree_Min=1048576\nAbandon_After=60\n",
	"Server=2,294,10.0.0.2 SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\nPeer_Security=tls\nPeer_Security_Accept=6\n",
	"Window=4194304\nPayload_Memory=4194304\nPeer_Congestion=system\nPeer_Security=krb5\n",
	"Server=2,294,b.example;nfs4r/b.example@EXAMPLE.ORG\nServer=3,294,::1 SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU;nfs4r/c@EXAMPLE.ORG\nPeer_Security=krb5p\nPeer_Keytab=/etc/nfs4r/data.keytab\nPeer_Service=nfs4r\nPeer_Security_Accept=12\n",
	"Peer_Security=tls\nPeer_Certificate=/etc/nfs4r/peer.crt\nPeer_Key=/etc/nfs4r/peer.key\nPeer_CA=/etc/nfs4r/ca.crt\nPeer_CRL=/etc/nfs4r/ca.crl\n",
	"+add 4 server4.example:2050\n+add 4 [::1]:2050\n+remove 3\n+list\n=1 2\n=none\n",
};

static void text_seeds(const char *show)
{
	static const char *const answers[] = { "status", "controls", "stats" };
	char name[16], path[512], text[60000];

	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		snprintf(name, sizeof(name), "request-%u", i);
		text_seed("ctl", name, "\0", 1, requests[i]);
	}
	for (unsigned i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		snprintf(name, sizeof(name), "%u", i);
		text_seed("config", name, "", 0, configs[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		FILE *f;
		size_t len;

		snprintf(path, sizeof(path), "%s/%s.json", show, answers[i]);
		f = fopen(path, "r");
		FUZZ_CHECK(f);
		len = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		for (size_t k = 0; k < len; k++) /* one line, as over the socket */
			text[k] = text[k] == '\n' || text[k] == '\t' ? ' ' : text[k];
		text[len] = '\0';
		text_seed("ctl", answers[i], "\1\0", 2, text);
	}
	text_seed("ctl", "verify", "\1\0", 2,
		  "{\"progress\":{\"objects\":12,\"bytes\":345}}\n{\"differs\":{\"path\":\"/a\",\"what\":\"bytes\"}}\n{\"done\":true,\"objects\":12,\"bytes\":345,\"differences\":1}\n{\"error\":\"no\"}\n");
}

int main(int argc, char **argv)
{
	FUZZ_CHECK(argc == 3);
	folder = argv[1];
	vector_seeds();
	hello_seed("connects", false);
	hello_seed("called", true);
	stranger_seeds();
	answer_seeds();
	store_seed("journal", false, 0, false);
	store_seed("journal-boot", false, 1, false);
	store_seed("journal-locks", false, 0, true);
	store_seed("checkpoint", true, 0, false);
	store_seed("checkpoint-failed", true, 3, false);
	text_seeds(argv[2]);
	return 0;
}
