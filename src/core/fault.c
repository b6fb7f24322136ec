/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Names of the rules that a test can switch off; see fault.h. */
#include "core/fault.h"

#include <stddef.h>

const char *nfs4r_core_fault_text(uint32_t fault)
{
	static const char *const text[NFS4R_FAULT_COUNT] = {
		[NFS4R_FAULT_NONE] = NULL,
#define X(name, rule, what) [name] = rule ": " what,
		NFS4R_FAULTS_EACH(X) NFS4R_DOUBT_FAULTS_EACH(X)
#undef X
	};

	return fault < NFS4R_FAULT_COUNT ? text[fault] : NULL;
}
