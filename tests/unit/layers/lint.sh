#!/usr/bin/env bash
# What shellcheck says of all shell scripts, pyflakes of all Python, and clang-format of all C. usage: lint.sh PROJECT
#
# Warnings and errors fail everywhere; missing quotes also outside of the cluster tests, whose arguments are numbers and words without blanks.
# Not asked for: SC2034 (a variable that only a sourced file uses), SC2011 (names with blanks, where the names are ours), SC2046 and SC2048 in t_testbed.sh,
# which wants its words split.
set -uo pipefail
cd "$1" || exit 1
BAD=0

# sources PATTERN [NAME]: files with a name like this, and those whose first line names such an interpreter.
sources() {
	find . '(' -path ./.deps -o -path ./build -o -path ./.git ')' -prune -o -type f ! -name '*.[ch]' -size -200k -print0 |
		LC_ALL=C xargs -0 awk -v "interpreter=^#!.*[/ ]($1)" -v "name=${2:-^$}" \
			'FNR == 1 { if ($0 ~ interpreter || FILENAME ~ name) print FILENAME; nextfile }' | LC_ALL=C sort
}

has() {
	command -v "$1" >/dev/null || { echo "$1 is missing; run 'make deps'"; exit 1; }
}

has shellcheck
has pyflakes3
has clang-format-14
mapfile -t shell < <(sources '(ba)?sh( |$)')
mapfile -t quoted < <(printf '%s\n' "${shell[@]}" | grep -v '^\./tests/cluster/')
mapfile -t python < <(sources python '[.]py$')
shellcheck --severity=warning --exclude=SC2034,SC2011,SC2046,SC2048 "${shell[@]}" || BAD=1
shellcheck --include=SC2086,SC2046,SC2048 "${quoted[@]}" || BAD=1
pyflakes3 "${python[@]}" || BAD=1
scripts/format.sh --check || BAD=1
echo "${#shell[@]} shell scripts, ${#python[@]} Python files"
[ "${#shell[@]}" -ge 20 ] && [ "${#python[@]}" -ge 60 ] || { echo "too few files found: wrong folder?"; BAD=1; }
exit $BAD
