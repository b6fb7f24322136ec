/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Values of the control socket's answers as JSON. */
#include <stdlib.h>

#include "base/text.h"
#include "engine/admin/admin_int.h"

json_t *admin_num(uint64_t v)
{
	return json_integer((json_int_t)v);
}

json_t *admin_json_text(const char *s)
{
	char *line = nfs4r_text_line_new(s);
	json_t *out = line ? json_string(line) : NULL;

	free(line);
	return out;
}

json_t *admin_error(const char *why)
{
	return json_pack("{s:o}", "error", admin_json_text(why));
}

json_t *admin_server_list(nfs4r_servers set)
{
	json_t *list = json_array();

	EACH_OF(set, s)
		json_array_append_new(list, admin_num(s));
	return list;
}
