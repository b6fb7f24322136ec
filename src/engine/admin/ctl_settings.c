/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * `nfs4rctl set` and `get` (log 6.17): the keys of the configuration whose values are the volume's.
 *
 * Happy path: `settings` tells each key with the volume's value and the one in this server's file. `set` hands a new value to the core, which keeps the request in memory
 * until a view has it. The answer comes at once; who asked looks at `settings` until it says so.
 *
 * Failure: every refusal is one sentence that says what to write.
 */
#include "engine/admin/admin_int.h"

json_t *admin_settings_json(const struct nfs4r_engine *eng, const struct nfs4r_volume_keys *has)
{
	struct engine_setting s[ENGINE_SETTINGS];
	json_t *out = json_array();

	engine_settings(&eng->cfg, has, s);
	for (uint32_t i = 0; i < ENGINE_SETTINGS; i++)
		json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s, s:b}", "key", s[i].name, "value", s[i].value, "unit", s[i].unit, "file", s[i].file, "differs", s[i].differs));
	return out;
}

json_t *admin_settings(struct nfs4r_engine *eng)
{
	struct nfs4r_core_view v;

	pthread_mutex_lock(&eng->lock);
	nfs4r_core_get_view(eng->core, &v);
	pthread_mutex_unlock(&eng->lock);
	return json_pack("{s:o, s:b, s:b}", "settings", admin_settings_json(eng, &v.adopted.settings.keys), "voted", v.adopted.settings.keys.durability != 0, "changing", v.setting != 0);
}

json_t *admin_set(struct nfs4r_engine *eng, const json_t *req)
{
	const char *name = json_string_value(json_object_get(req, "key")), *text = json_string_value(json_object_get(req, "value"));
	struct nfs4r_event ev = { .type = NFS4R_EV_SET };
	struct nfs4r_volume_settings to;
	char why[NFS4R_WHY] = "";
	enum nfs4r_status st;

	if (!name || !text)
		return admin_error("give a key and a value, both as text");
	if (engine_setting_parse(name, text, &ev.key, &ev.value, why, sizeof(why)) != NFS4R_OK)
		return admin_error(why);
	pthread_mutex_lock(&eng->lock);
	st = nfs4r_core_may_set(eng->core, ev.key, ev.value, &to, why, sizeof(why));
	if (st == NFS4R_OK) {
		engine_log(eng, NFS4R_LOG_INFO, "volume %s: an administrator sets %s = %s", eng->cfg.volume_name, name, text); /* both are known words */
		engine_step(eng, &ev);
	}
	pthread_mutex_unlock(&eng->lock);
	return st == NFS4R_OK ? json_pack("{s:o}", "settings", admin_settings_json(eng, &to.keys)) : admin_error(why);
}
