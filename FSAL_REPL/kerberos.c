/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Why a client's ticket was refused. Ganesha's RPC library knows it and is silent by default; asked to speak (RPC_Debug_Flags), it says two numbers. An administrator needs the
 * text, and what to do: most of the time a clock is wrong, or the keytab is older than the key.
 *
 * So this takes the place of the library's function for lines of its log, hands on what is not about that, and lets the library say that line. The numbers are those of GSSAPI, which knows
 * the text of the last failure on this thread. Any client may be refused as often as it likes: once a minute for a cause, with the number of those in between.
 */
#include "repl.h"
#include "nfs_core.h"
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_krb5.h>

#define EVERY_S 60
#define CAUSES 8 /* lines in that time */

static mem_format_t log_line; /* what the library called before */

struct cause {
	OM_uint32 minor;
	time_t due;
	uint32_t unsaid;
};

/* How many were refused for it since the last line, this one included; 0: none is due. */
static uint32_t due(OM_uint32 minor)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct cause causes[CAUSES];
	struct cause *c = &causes[0];
	struct timespec now;
	uint32_t n = 0;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	PTHREAD_MUTEX_lock(&lock);
	for (size_t i = 0; i < CAUSES && c->minor != minor; i++)
		if (causes[i].minor == minor || causes[i].due < c->due)
			c = &causes[i];
	if (c->minor != minor && now.tv_sec >= c->due)
		*c = (struct cause){ .minor = minor };
	if (c->minor == minor) /* else all lines of this minute are taken */
		c->unsaid++;
	if (c->minor == minor && now.tv_sec >= c->due) {
		n = c->unsaid;
		c->unsaid = 0;
		c->due = now.tv_sec + EVERY_S;
	}
	PTHREAD_MUTEX_unlock(&lock);
	return n;
}

static void reason(OM_uint32 major, OM_uint32 minor, char *out, size_t len)
{
	gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
	OM_uint32 more = 0, ignored;
	bool mechanism = minor != 0;

	if (gss_display_status(&ignored, mechanism ? minor : major, mechanism ? GSS_C_MECH_CODE : GSS_C_GSS_CODE, mechanism ? gss_mech_krb5 : GSS_C_NO_OID, &more, &text) == GSS_S_COMPLETE)
		snprintf(out, len, "%.*s", (int)text.length, (const char *)text.value);
	else
		snprintf(out, len, "major status %u, minor status %u", major, minor);
	gss_release_buffer(&ignored, &text);
}

const char *repl_kerberos_remedy(const char *why)
{
	static const struct {
		const char *word, *remedy;
	} remedies[] = {
		{ "skew", "correct the clock of the client or of this server, and run NTP on both (chronyc tracking): they may differ by 5 minutes" },
		{ "not yet valid", "correct the clock of the client or of this server, and run NTP on both (chronyc tracking): they may differ by 5 minutes" },
		{ "keytab", "the keytab lacks the key under which the KDC gives tickets: take it anew (kadmin: ktadd -k KEYTAB nfs/HOST, compare with klist -k KEYTAB); no restart is needed" },
		{ "expired", "the user needs a new ticket (kinit)" },
		{ "Decrypt integrity", "the keytab has another key than the KDC: take it anew (kadmin: ktadd -k KEYTAB nfs/HOST); no restart is needed" },
		{ "encryption type", "give the principal nfs/HOST a key of a type that the client and this server have (kadmin: cpw -randkey -e aes256-cts), then ktadd" },
		{ "replay", "the same request arrived twice: a retransmission, or a recording of it" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
		if (strcasestr(why, remedies[i].word) != NULL)
			return remedies[i].remedy;
	return "compare the keytab (klist -k KEYTAB), the realm and the clock with those of the KDC";
}

static void say(OM_uint32 major, OM_uint32 minor)
{
	char why[300], others[60] = "";
	uint32_t n = due(minor);

	if (n == 0)
		return;
	reason(major, minor, why, sizeof(why));
	if (n > 1)
		snprintf(others, sizeof(others), " (%u times since the last line)", n);
	REPL_LOG(Warn, "a client's Kerberos ticket was refused%s: %s; %s", others, why, repl_kerberos_remedy(why));
}

static __attribute__((format(printf, 1, 2))) void line(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	if (strcmp(fmt, "%s: auth failed major=%u minor=%u") == 0) {
		(void)va_arg(ap, const char *); /* the function */
		OM_uint32 major = va_arg(ap, unsigned int);

		say(major, va_arg(ap, unsigned int));
		va_end(ap);
		return;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strstr(fmt, "auth_put()") == NULL) /* a count of references, with the same flag */
		log_line("%s", text);
}

void repl_kerberos_watch(void)
{
	tirpc_pkg_params params;

	if (log_line != NULL || !nfs_param.krb5_param.active_krb5 || !tirpc_control(TIRPC_GET_PARAMETERS, &params))
		return;
	log_line = params.warnx_;
	params.warnx_ = (mem_format_t)line;
	params.debug_flags |= TIRPC_DEBUG_FLAG_AUTH;
	if (!tirpc_control(TIRPC_PUT_PARAMETERS, &params))
		log_line = NULL;
}

void repl_kerberos_unwatch(void)
{
	tirpc_pkg_params params;

	if (log_line == NULL || !tirpc_control(TIRPC_GET_PARAMETERS, &params) || params.warnx_ != (mem_format_t)line)
		return;
	params.warnx_ = log_line;
	params.debug_flags &= ~TIRPC_DEBUG_FLAG_AUTH;
	tirpc_control(TIRPC_PUT_PARAMETERS, &params);
}
