"""Makes the .txt files beside it: datagrams of real QUIC connections, seen half-way.

    python3 -m venv venv && venv/bin/pip install aioquic==1.7.2 && venv/bin/python quic.py

A client fetches 300 kB from a server, both of them aioquic in virtual time. A datagram takes 10 ms from
each end to the observer and 10 ms from there to the other end, so the RTT is 40 ms. It leaves the server
100 us after the previous one. A line is a datagram: its time in microseconds, its direction, the length
of its UDP payload, and the start of that, which has all of its headers. Keys and connection IDs differ
from one run of this script to the next.
"""

import datetime
import heapq
import itertools
import pathlib

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import QuicProtocolVersion, encode_quic_version_negotiation, pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HALF = 0.010
SIZE = 300_000


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    begin = datetime.datetime(2026, 1, 1)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    return cert, key


def transfer(version):
    common = {"alpn_protocols": ["l4s"], "supported_versions": [version]}
    client = QuicConnection(
        configuration=QuicConfiguration(is_client=True, verify_mode=0, original_version=version, **common)
    )
    server_configuration = QuicConfiguration(is_client=False, **common)
    server_configuration.certificate, server_configuration.private_key = certificate()
    ends = {"up": client, "down": None}
    addresses = {"up": ("client", 1), "down": ("server", 2)}
    arrivals, number, seen, free = [], itertools.count(), [], 0.0
    received = 0

    def send(direction, now):
        nonlocal free
        for data, _ in ends[direction].datagrams_to_send(now):
            if direction == "down":
                now = free = max(now, free + 0.0001)
            seen.append((now + HALF, next(number), direction, data))
            other = "down" if direction == "up" else "up"
            heapq.heappush(arrivals, (now + 2 * HALF, next(number), other, direction, data))

    client.connect(addresses["down"], now=0.0)
    send("up", 0.0)
    now = 0.0
    while received < SIZE:
        timers = [
            (end.get_timer(), direction)
            for direction, end in ends.items()
            if end is not None and end.get_timer() is not None
        ]
        timer, owner = min(timers)
        if not arrivals or timer < arrivals[0][0]:
            now = max(now, timer)
            ends[owner].handle_timer(now)
            send(owner, now)
            continue
        now, _, to, sender, data = heapq.heappop(arrivals)
        if ends[to] is None:
            header = pull_quic_header(Buffer(data=data), host_cid_length=8)
            ends[to] = QuicConnection(
                configuration=server_configuration,
                original_destination_connection_id=header.destination_cid,
            )
        ends[to].receive_datagram(data, addresses[sender], now)
        while event := ends[to].next_event():
            if isinstance(event, StreamDataReceived):
                if to == "down" and event.end_stream:
                    ends[to].send_stream_data(event.stream_id, bytes(SIZE), end_stream=True)
                elif to == "up":
                    received += len(event.data)
            elif to == "up" and type(event).__name__ == "HandshakeCompleted":
                ends[to].send_stream_data(0, b"GET", end_stream=True)
        send(to, now)
    return [(time, direction, data) for time, _, direction, data in sorted(seen)]


def write(name, datagrams):
    lines = []
    for time, direction, data in datagrams:
        # A long header with connection IDs of 8 bytes; of a short one, nothing but the first byte is read.
        header = data[:40] if data[0] & 0x80 else data[:1]
        lines.append(f"{round(time * 1e6)} {direction} {len(data)} {header.hex()}\n")
    pathlib.Path(__file__).with_name(name).write_text("".join(lines))


for name, version in [("quic-v1.txt", QuicProtocolVersion.VERSION_1), ("quic-v2.txt", QuicProtocolVersion.VERSION_2)]:
    write(name, transfer(version))

# A client that greases: its first packet with a reserved version, and the answer of aioquic.
_, _, first = transfer(QuicProtocolVersion.VERSION_1)[0]
header = pull_quic_header(Buffer(data=first), host_cid_length=8)
answer = encode_quic_version_negotiation(
    source_cid=header.destination_cid,
    destination_cid=header.source_cid,
    supported_versions=[QuicProtocolVersion.VERSION_1, QuicProtocolVersion.VERSION_2],
)
greased = first[:1] + bytes.fromhex("1a2a3a4a") + first[5:]
write("quic-greased.txt", [(0.01, "up", greased), (0.03, "down", answer)])
