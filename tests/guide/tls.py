#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""The guide "TLS at three sites in ten minutes" of docs/security.md, done as it is written: three servers in one network namespace, each with an /etc/nfs4r of its own.

The commands are those of the page. `systemctl enable --now nfs4r@data` starts the daemon with /etc/nfs4r/data.conf, since there is no systemd here; names of machines
become addresses. usage: tls.py PROJECT PLUGIN.so GANESHA_PREFIX NFS4RCTL. Needs root; else exit 77, skipped."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PAGE = "docs/security.md"
TITLE = "## TLS at three sites in ten minutes"
ROUNDS = "### From one flavour to another"
SITES = (1, 2, 3)
NAMES = {1: "paris.example.org", 2: "oslo.example.org", 3: "rome.example.org"}
START_S, AGREE_S = 60, 60


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


def eventually(seconds, condition, text):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, text())
        time.sleep(0.1)


def guide(project):
    """The rounds from none to tls, and the section's blocks of code, in order."""
    with open(os.path.join(project, PAGE), encoding="utf-8") as f:
        page = f.read()
    expect(TITLE in page, f"{PAGE} has no section {TITLE}")
    rounds = re.findall(r"^\d\. .*$", page.split(ROUNDS)[1].split("\n## ")[0], re.M)
    return rounds, re.findall(r"^```\n(.*?)^```$", page.split(TITLE)[1].split("\n## ")[0], re.M | re.S)


class Site:
    """One machine: its folder is /etc/nfs4r to what runs there."""

    def __init__(self, number, tmp, args):
        self.number, self.args, self.daemon = number, args, None
        self.folder = os.path.join(tmp, f"site{number}")
        self.etc = os.path.join(self.folder, "etc")
        for name in ("etc", "data", "rec"):
            os.makedirs(os.path.join(self.folder, name))

    def there(self, command):
        """The argument vector of @command on that machine."""
        bin_dir = os.path.dirname(self.args.nfs4rctl)
        return ["unshare", "-m", "sh", "-ec", f'mount --bind {self.etc} /etc/nfs4r; PATH={bin_dir}:$PATH; export PATH NFS4R_SOCKET={self.folder}/data.sock; exec {command}']

    def run(self, command):
        return subprocess.run(self.there(command), capture_output=True, text=True, timeout=120)

    def must(self, command):
        r = self.run(command)
        expect(r.returncode == 0, f"site {self.number}: {command}: {r.returncode}\n{r.stdout}{r.stderr}\n{self.log()[-3000:]}")
        return r.stdout

    def log(self):
        try:
            with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def write(self, lines):
        """/etc/nfs4r/data.conf: the sample, with @lines in place of its Peer_Security and Server blocks."""
        with open(os.path.join(self.args.project, f"config_samples/three-sites/site{self.number}.conf"), encoding="utf-8") as f:
            text = f.read()
        text = re.sub(r"^\s*(Peer_Security = |Server \{).*\n", "", text, flags=re.M)
        text = re.sub(r"^REPL \{\n", lambda m: m.group() + lines, text, flags=re.M)
        text = text.replace("/var/lib/nfs4r/data", f"{self.folder}/store").replace("/srv/data", f"{self.folder}/data").replace("/run/nfs4r", self.folder)
        text = re.sub(r"Protocols = 4;", f'Protocols = 4; NFS_Port = {2048 + self.number}; Plugins_Dir = "{self.args.plugins}"; allow_set_io_flusher_fail = true;', text)
        text = re.sub(r"RecoveryBackend = fs;", f'RecoveryBackend = fs; RecoveryRoot = "{self.folder}/rec";', text)
        with open(os.path.join(self.etc, "data.conf"), "w", encoding="utf-8") as f:
            f.write(text)

    def start(self):
        env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(self.args.prefix, "lib"), "ASAN_OPTIONS": "detect_leaks=0"}
        command = f"{self.args.prefix}/bin/ganesha.nfsd -F -x -f /etc/nfs4r/data.conf -L {self.folder}/log -p {self.folder}/pid"
        with open(os.path.join(self.folder, "out"), "a", encoding="utf-8") as out:
            self.daemon = subprocess.Popen(self.there(command), env=env, stdout=out, stderr=out)

    def wait_started(self):
        eventually(START_S, lambda: self.log().count("NFS SERVER INITIALIZED") or self.daemon.poll() is not None, lambda: f"site {self.number} does not start\n{self.log()[-3000:]}")
        expect(self.daemon.poll() is None, f"site {self.number} has ended\n{self.log()[-3000:]}")

    def stop(self):
        if self.daemon is None:
            return
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        self.daemon = None
        os.replace(os.path.join(self.folder, "log"), os.path.join(self.folder, "log.before"))

    def restart(self):
        self.stop()
        self.start()
        self.wait_started()

    def status(self):
        r = self.run("nfs4rctl --json status")
        return json.loads(r.stdout) if r.returncode == 0 else {}

    def flavours(self):
        """Of the connections to the other servers; None: not connected."""
        return [p.get("security") if p["up"] else None for p in self.status().get("peers", [])]


def agree(sites, flavour):
    def all_are():
        return all(s.flavours() == [flavour, flavour] and s.status().get("state") == "serving" for s in sites)

    eventually(AGREE_S, all_are, lambda: "\n".join(f"site {s.number}: {s.flavours()}, {s.status().get('state')}\n{s.log()[-1500:]}" for s in sites))


def make_keys(sites, command, printed):
    """Step 1. Returns the fingerprints, as each server prints its own."""
    form = re.compile(re.sub(r"SHA256:[A-Za-z0-9+/]{43}", "(SHA256:[A-Za-z0-9+/]{43})", re.escape(printed.strip()).replace(r"\+", "+").replace(r"\/", "/")))
    keys = {}
    for s in sites:
        m = form.search(s.must(command))
        expect(m, f"`{command}` prints no line as the guide shows it: {printed}")
        keys[s.number] = m.group(1)
    expect(len(set(keys.values())) == len(sites), f"two servers have one key: {keys}")
    return keys


def filled_in(lines, keys):
    """The three lines of the guide with what an administrator writes."""
    for number, name in NAMES.items():
        lines = re.sub(rf'(Id = {number}; Address = )"{name}";(\s*)Key = "SHA256:\.\.\."', rf'\1"192.0.2.{number}";\2Key = "{keys[number]}"', lines)
    expect("..." not in lines and lines.count("Server {") == 3, f"the lines of the guide are not as this test knows them:\n{lines}")
    return lines


def on_each(sites, block):
    """The commands of step 3."""
    commands = block.strip().split("\n")
    expect(commands[0] == "systemctl enable --now nfs4r@data", f"step 3 begins with {commands[0]}")
    for s in sites:
        s.start()
    for s in sites:
        s.wait_started()
    agree(sites, "tls")
    for s in sites:
        for command in commands[1:]:
            out = s.must(command)
            expect("WARNING" not in out, f"site {s.number}: {command}:\n{out}")
            expect(" tls" in out, f"site {s.number}: {command} says nothing of tls:\n{out}")


def from_new(sites, blocks):
    make, printed, lines, look = blocks
    keys = make_keys(sites, make.strip(), printed)
    for s in sites:
        s.write(filled_in(lines, keys))
    on_each(sites, look)
    return filled_in(lines, keys)


def new_key(sites):
    """`nfs4rctl key replace`: nothing is restarted, and nothing but the one server's key changes."""
    before = sites[1].must("nfs4rctl key show")
    sites[1].must("nfs4rctl key replace")
    agree(sites, "tls")
    for s in sites:
        s.restart()
        agree(sites, "tls")
    expect("view" in sites[0].must("nfs4rctl key show") and sites[1].must("nfs4rctl key show") != before, "the new key is in no view")


def from_none(sites, rounds, lines):
    """The three rounds from none to tls."""
    expect(len(rounds) == 3 and "`Peer_Security_Accept = tls`" in rounds[0] and "`Peer_Security_Accept = none`" in rounds[1] and "alone" in rounds[2], f"other rounds: {rounds}")
    servers = re.sub(r"^\s*Peer_Security = .*\n", "", lines, flags=re.M)
    written = ("Peer_Security = none;\n" + re.sub(r' Key = "[^"]*";', "", servers), "Peer_Security = none;\nPeer_Security_Accept = tls;\n" + servers,
               "Peer_Security = tls;\nPeer_Security_Accept = none;\n" + servers, "Peer_Security = tls;\n" + servers)
    for s in sites:
        s.write(written[0])
        s.restart()
    agree(sites, "none")
    for step in written[1:]:
        for s in sites:
            s.write(step)
            s.restart()
            eventually(AGREE_S, lambda: all(None not in x.flavours() and x.status().get("state") == "serving" for x in sites), lambda: f"after {step.split(';')[0]} at site {s.number}: {[x.flavours() for x in sites]}\n{s.log()[-2000:]}")
    agree(sites, "tls")


def inside(args):
    rounds, blocks = guide(args.project)
    expect(len(blocks) == 4, f"the guide has {len(blocks)} blocks of code, not 4")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for number in SITES:
        subprocess.run(["ip", "addr", "add", f"192.0.2.{number}/24", "dev", "lo"], check=True)
    with tempfile.TemporaryDirectory() as tmp:
        args.plugins = os.path.join(tmp, "plugins")
        os.makedirs(args.plugins)
        os.makedirs(os.path.join(tmp, "etc/nfs4r"))
        subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={tmp}/etc:/etc", "etc", "/etc"], check=True)
        for name in os.listdir(os.path.join(args.prefix, "lib/ganesha")):
            os.symlink(os.path.join(args.prefix, "lib/ganesha", name), os.path.join(args.plugins, name))
        os.symlink(args.plugin, os.path.join(args.plugins, "libfsalrepl.so"))
        sites = [Site(number, tmp, args) for number in SITES]
        failed = False
        lines = ""
        try:
            for name, step in (("three new servers", lambda: from_new(sites, blocks)), ("a new key", lambda: new_key(sites)), ("from none to tls", lambda: from_none(sites, rounds, lines))):
                try:
                    lines = step() or lines
                    print(f"ok {name}")
                except (Failed, subprocess.SubprocessError) as e:
                    print(f"not ok {name}\n" + "\n".join(f"# {line}" for line in str(e).split("\n")))
                    failed = True
                    break
        finally:
            for s in sites:
                s.stop()
            subprocess.run(["umount", "/etc"], check=False)
    return 1 if failed else 0


class Args:
    def __init__(self, argv):
        self.project, self.plugin, self.prefix, self.nfs4rctl = (os.path.realpath(a) for a in argv[1:5])
        self.plugins = ""


def main():
    args = Args(sys.argv)
    if sys.argv[5:] != ["inside"]:
        if os.geteuid() != 0 or subprocess.run(["unshare", "-n", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
            print("skipped: needs root")
            return 77
        os.execvp("unshare", ["unshare", "-n", "-m", sys.executable, os.path.realpath(__file__), *sys.argv[1:5], "inside"])
    return inside(args)


sys.exit(main())
