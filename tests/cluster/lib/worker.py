"""A program of this folder that runs in the network of a site and works when it is told to: a line on its standard input, an answer in JSON on its standard output."""
import json
import os
import subprocess

import bed

END = 30                # seconds that it may take to end


class Worker:
    def __init__(self, b, site, program, *args):
        self.said = []
        self.process = subprocess.Popen(b.command('ns', site, '--', '/usr/bin/python3', os.path.join(bed.LIB, program), *args), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def say(self, line):
        self.said.append(line)
        self.process.stdin.write(f'{line}\n')
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        bed.expect(line, f'{self.process.args[4:8]} ended: {"" if line else self.process.stderr.read()}')
        return json.loads(line)

    def tell(self, line):
        self.say(line)
        return self.hear()

    def end(self):
        """Without a word to the server: its standard input ends."""
        self.process.stdin.close()
        self.process.wait(END)
