/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* For quota_guest: `quota_probe DIR` prints which quotas concern DIR, how large statvfs says it is, and what a start of a server there says. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/runtime/fs.h"
#include "engine/runtime/quota.h"

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	struct nfs4r_config cfg;
	char why[NFS4R_WHY] = "", what[80];
	struct quota_facts f;
	struct fs_room room;

	if (fd < 0 || !engine_fs_room(fd, &room)) {
		perror("quota_probe DIR");
		return 2;
	}
	engine_quota_look(fd, &f);
	engine_quota_name(engine_quota_kinds(&f), what, sizeof(what));
	printf("%s%s, type %s, %llu KiB\n", engine_quota_kinds(&f) ? "" : "no", what, f.type, (unsigned long long)room.bytes.total >> 10);
	nfs4r_config_init(&cfg);
	cfg.rpc.self = 1;
	snprintf(cfg.export_dir, sizeof(cfg.export_dir), "%s", argv[1]);
	snprintf(cfg.store_dir, sizeof(cfg.store_dir), "/run/store");
	snprintf(cfg.control_socket, sizeof(cfg.control_socket), "/run/socket");
	printf("refuse: %s\n", nfs4r_places_check(&cfg, why, sizeof(why)) == NFS4R_OK ? "starts" : why);
	cfg.quotas_ignored = true;
	printf("ignore: %s\n", nfs4r_places_check(&cfg, why, sizeof(why)) == NFS4R_OK ? "starts" : why);
	return 0;
}
