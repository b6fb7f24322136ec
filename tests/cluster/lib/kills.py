"""Which errors a client may hear because its own server died.

The replies that a server keeps for repetitions (RFC 8881, 2.10.6.1) are in its memory only. A client whose server dies between the execution of an
operation and its reply repeats it to the restarted server and hears of its own first try: ENOENT of a REMOVE or RENAME, EEXIST of a directory or a
link. So it is with every NFS server on Linux. An exclusive create is known again by its verifier. Another server's death is no excuse, since servers
know a request again (log 5.6); nor is this one's for what had ended before it, or began after it.

Neither is another site that cannot be reached, but for one case: a REMOVE or RENAME that was executed, and could not be answered for so long that its server stopped to wait
(docs/protocol/README.md, Parking). The client's repetition looks for the name, and finds it gone.

If the disk is lost as well, the last of what was answered may be lost with it: the tail that no majority had (log 5.1, `commit`). That is so for what the
dead server had executed for its own clients just before; what is executed for another server's is answered when all have it (control 5.3).

All times are those of the host's clock.
"""
REPEATED = {'unlink': 'ENOENT', 'rename': 'ENOENT', 'mkdir': 'EEXIST', 'link': 'EEXIST'}
PARKED = 'unlink', 'rename'  # not found again when they are repeated,
WAITED = 50     # seconds, after which they have to be (NAME_PARK_AFTER_MS in src/engine/update/ops.c)
TAIL = 1.0      # seconds: 20 ms on the way to the others, and a busy machine
SLACK = 0.1     # between two clocks


class Kills:
    """Of each server that was killed: its site, when the kill began and had ended, and whether its disk was lost."""

    def __init__(self):
        self.all = []
        self.outages = []

    def out_of_reach(self, begin, end):
        """No server could reach another one."""
        self.outages.append((begin - SLACK, end + SLACK))

    def add(self, site, begin, end, lost):
        self.all.append((site, begin - SLACK, end + SLACK, lost))

    def repeated(self, site, op, error, begin, end):
        """The operation was under way when the site's server died, or waited in vain for the others, and the error says that it had been executed."""
        died = any(s == site and begin < k1 and end > k0 for s, k0, k1, _ in self.all)
        waited = op in PARKED and any(min(end, o1) - max(begin, o0) >= WAITED for o0, o1 in self.outages)
        return REPEATED.get(op) == error and (died or waited)

    def in_lost_tail(self, site, answered, asked):
        """What the site's client was answered then may be gone when it asks for it."""
        return any(s == site and lost and k0 - TAIL < answered < k1 and asked > k0 for s, k0, k1, lost in self.all)
