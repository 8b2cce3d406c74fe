"""A transfer by aioquic: `transfer.py server`, and `transfer.py client ADDRESS BYTES`."""

import asyncio
import datetime
import ssl
import sys
import time

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PORT = 4433
ALPN = ["bytes"]


async def server():
    """Serves streams until it is ended."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "transfer")])
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now
    )
    certificate = builder.not_valid_after(now + datetime.timedelta(days=1)).sign(
        key, hashes.SHA256()
    )
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=ALPN, certificate=certificate, private_key=key
    )
    await serve("0.0.0.0", PORT, configuration=configuration, stream_handler=answer)
    await asyncio.Future()


def answer(reader, writer):
    """Answers a stream with as many bytes as its first eight ask for."""

    async def send():
        writer.write(bytes(int.from_bytes(await reader.readexactly(8), "big")))
        writer.write_eof()

    asyncio.get_running_loop().create_task(send())


async def client(address, size):
    """Downloads `size` bytes, and prints how long that took."""
    begin = time.perf_counter()
    configuration = QuicConfiguration(alpn_protocols=ALPN, verify_mode=ssl.CERT_NONE)
    async with connect(address, PORT, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(size.to_bytes(8, "big"))
        received = 0
        while data := await reader.read(65536):
            received += len(data)
    if received != size:
        sys.exit(f"{received} bytes, expected {size}")
    seconds = time.perf_counter() - begin
    print(f"aioquic: {size} bytes in {seconds:.3f} s, {size * 8e-6 / seconds:.2f} Mb/s")


match sys.argv[1:]:
    case ["server"]:
        asyncio.run(server())
    case ["client", address, size]:
        asyncio.run(client(address, int(size)))
    case _:
        sys.exit("usage: transfer.py server | transfer.py client ADDRESS BYTES")
