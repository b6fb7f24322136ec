# Links between sites; sourced by `testbed`. State of a link: RUN/links/A-B (A < B), one line
# 'rtt_us loss_percent rate_mbit cut': rate 0 is unlimited, cut 0, 1 (both ways), 2 (what A sends) or 3 (what B sends).

# netem without delay costs a timer per packet in UML: below 1 ms a link is without netem, and the router itself takes
# about 0.3 ms for a round trip; netem delays by 2 ms at least.
NO_NETEM_US=1000
MIN_RTT_US=2000

link_file() { if [ "$1" -lt "$2" ]; then echo "$RUN/links/$1-$2"; else echo "$RUN/links/$2-$1"; fi; }

# microseconds of 40ms, 1.5s, 500us, 40
parse_time() {
	local us
	us=$(echo "$1" | awk '
		/^[0-9.]+us$/ { print int($0 + 0.5); next }
		/^[0-9.]+(ms)?$/ { print int($0 * 1000 + 0.5); next }
		/^[0-9.]+s$/ { print int($0 * 1000000 + 0.5); next }
		{ exit 1 }') && [ -n "$us" ] || fail "not a time: $1 (like 40ms)"
	[ "$us" -lt $NO_NETEM_US ] || [ "$us" -ge $MIN_RTT_US ] || us=$MIN_RTT_US
	echo "$us"
}

parse_rate() {
	echo "$1" | awk '
		/^(none|0)$/ { print 0; next }
		/^[0-9.]+gbit$/ { print int($0 * 1000 + 0.5); next }
		/^[0-9.]+mbit$/ { print int($0 + 0.5); next }
		{ exit 1 }' || fail "not a rate: $1 (like 100mbit, 1gbit, none)"
}

parse_loss() {
	echo "$1" | grep -qE '^[0-9]+(\.[0-9]+)?%?$' || fail "not a loss: $1 (like 0.1%)"
	echo "${1%\%}"
}

# qdisc_args CLASS RTT_US LOSS RATE CUT: always with a rate, because netem without it keeps the old one. A handle
# belongs to one kind of qdisc: 1CLASS to netem, 2CLASS to pfifo.
qdisc_args() {
	local us=$2 limit=100000 rate=$4
	if [ "$5" = 1 ]; then
		echo "handle 1$1: netem limit 1000 delay 0ms loss 100% rate 100gbit"
		return
	fi
	if [ "$us" -lt $NO_NETEM_US ] && [ "$3 $4" = "0 0" ]; then
		echo "handle 2$1: pfifo limit 100000"
		return
	fi
	[ "$us" -ge $MIN_RTT_US ] || us=$MIN_RTT_US
	# 50 ms of buffer; netem's limit counts the delayed packets too.
	[ "$rate" = 0 ] || limit=$((rate * (us / 2000 + 50) / 12 + 1))
	[ "$rate" != 0 ] || rate=100000
	echo "handle 1$1: netem limit $limit delay $((us / 2))us loss $3% rate ${rate}mbit"
}

# link_change A B SETTING...: keeps what is not named; prints the router's commands.
link_change() {
	local a=$1 b=$2 f rtt loss rate cut s
	shift 2
	f=$(link_file "$a" "$b")
	read -r rtt loss rate cut <"$f" || fail "no link $a $b"
	for s in "$@"; do
		case $s in
		rtt=*) rtt=$(parse_time "${s#*=}") || exit 1 ;;
		loss=*) loss=$(parse_loss "${s#*=}") || exit 1 ;;
		rate=*) rate=$(parse_rate "${s#*=}") || exit 1 ;;
		cut) cut=1 ;;
		"cut-from=$a") cut=2 ;;
		"cut-from=$b") cut=3 ;;
		heal) cut=0 ;;
		*) fail "unknown link setting: $s" ;;
		esac
	done
	echo "$rtt $loss $rate $cut" >"$f"
	echo "qdisc replace dev vec$((b - 1)) parent 1:$a $(qdisc_args "$a" "$rtt" "$loss" "$rate" "$((cut == 1 || cut == 2))")"
	echo "qdisc replace dev vec$((a - 1)) parent 1:$b $(qdisc_args "$b" "$rtt" "$loss" "$rate" "$((cut == 1 || cut == 3))")"
}

# link_pairs A B: lines 'a b'; either may be 'all'.
link_pairs() {
	local a b
	for a in $(seq "$SITES"); do
		for b in $(seq $((a + 1)) "$SITES"); do
			case "$1 $2" in
			"$a $b" | "$b $a" | "$a all" | "$b all" | "all $a" | "all $b" | "all all") echo "$a $b" ;;
			esac
		done
	done
}

cmd_link() {
	local pairs a b tc
	[ $# -ge 3 ] || fail "usage: link A B rtt=40ms|loss=0.1%|rate=1gbit|cut|cut-from=A|heal..."
	need_up
	exec 7>"$RUN/links/lock"
	flock 7
	pairs=$(link_pairs "$1" "$2")
	[ -n "$pairs" ] || fail "no link $1 $2"
	shift 2
	tc=$(while read -r a b; do link_change "$a" "$b" "$@" || exit 1; done <<<"$pairs") || exit 1
	if [ "$ROUTER" = wire ]; then
		in_bed wire_links
		return
	fi
	"$BED/gx" "$RUN/r.sock" -t 20 -- tc -batch - <<<"$tc" || fail "the router refused: $tc"
}

links_init() {
	local a b
	mkdir -p "$RUN/links"
	link_pairs all all | while read -r a b; do
		echo "$((DELAY_US * 2)) 0 $RATE 0" >"$(link_file "$a" "$b")"
	done
}

# cut_text CUT A B
cut_text() {
	case $1 in
	1) echo ', CUT' ;;
	2) echo ", CUT from $2" ;;
	3) echo ", CUT from $3" ;;
	esac
}

links_show() {
	local f rtt loss rate cut
	for f in "$RUN"/links/*-*; do
		[ -e "$f" ] || continue
		read -r rtt loss rate cut <"$f"
		printf 'link %s: rtt %s ms, loss %s %%, rate %s%s\n' "$(basename "$f" | tr - ' ')" \
			"$(awk "BEGIN { print $rtt / 1000 }")" "$loss" \
			"$([ "$rate" = 0 ] && echo unlimited || echo "$rate Mbit/s")" \
			"$(cut_text "$cut" $(basename "$f" | tr - ' '))"
	done
}
