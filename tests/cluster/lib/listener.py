#!/usr/bin/python3
"""Listens to what servers say to each other: listener.py INTERFACE MARK...

Prints `ready`. When its standard input ends it prints one line of JSON: {"bytes": of packets between servers (10.0.N.1), "marks": {MARK: times that it was in one}}. It sees packets
as the kernel hands them over, several kilobytes at a time, and misses a mark that is in two of them.
"""
import json
import select
import socket
import sys

ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
SERVER = (b'\x0a\x00', b'\x01')     # 10.0.*.1
HEADER = 20


def between_servers(packet):
    addresses = packet[12:16], packet[16:20]
    return len(packet) > HEADER and packet[0] >> 4 == 4 and all(a[:2] == SERVER[0] and a[3:] == SERVER[1] for a in addresses)


def main():
    interface, marks = sys.argv[1], sys.argv[2:]
    total, seen = 0, dict.fromkeys(marks, 0)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        s.bind((interface, ETH_P_ALL))
        print('ready', flush=True)
        while True:
            ready, _, _ = select.select([s, sys.stdin], [], [])
            if s in ready:
                packet = s.recv(1 << 17)
                if between_servers(packet):
                    total += len(packet)
                    for mark in marks:
                        seen[mark] += packet.count(mark.encode())
            elif not sys.stdin.read(1):
                break
    print(json.dumps({'bytes': total, 'marks': seen}), flush=True)


if __name__ == '__main__':
    main()
