#!/bin/sh
# SPDX-License-Identifier: LGPL-3.0-or-later
# The core has no I/O, clock, thread or chance: its objects import nothing but memory, text and its own.
# usage: t_core_purity.sh NM libnfs4r_core.a
set -eu
# Symbols that another object of the core defines are not imports.
"$1" --defined-only -g "$2" | awk 'NF == 3 { print $3 }' | sort -u >"${TMPDIR:-/tmp}/core_defined.$$"
trap 'rm -f "${TMPDIR:-/tmp}/core_defined.$$"' EXIT
bad=$("$1" -u "$2" | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u | comm -23 - "${TMPDIR:-/tmp}/core_defined.$$" |
	grep -Ev '^(mem(cpy|set|cmp|move|chr)|str(len|nlen|cmp|ncmp|chr)|malloc|calloc|realloc|free|snprintf|qsort|__assert_fail)(_chk)?$' |
	grep -Ev '^(__(memcpy|memset|memmove|snprintf)_chk|__stack_chk_fail|__popcountdi2|__ctzdi2|_GLOBAL_OFFSET_TABLE_|nfs4r_.*|__(asan|ubsan|tsan|sanitizer)_.*)$' || true)
if [ -n "$bad" ]; then
	echo "the core imports:"
	echo "$bad"
	exit 1
fi
