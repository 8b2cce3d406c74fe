"""The video of a call by aiortc: `call.py server`, and `call.py client ADDRESS SECONDS`.

The two exchange their session descriptions over TCP.
"""

import asyncio
import contextlib
import random
import sys

from aiortc import (
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
    VideoStreamTrack,
)
from av import VideoFrame

PORT = 8000
HERE_ONLY = RTCConfiguration(iceServers=[])


class Noise(VideoStreamTrack):
    """30 frames a second with nothing in common: the encoder needs all the rate it may have."""

    random = random.Random(1)

    async def recv(self):
        """The next frame, when it is due."""
        frame = VideoFrame(640, 480, "yuv420p")
        frame.pts, frame.time_base = await self.next_timestamp()
        luma, *chroma = frame.planes
        luma.update(b"".join(self.row(luma.line_size) * 16 for _ in range(30)))
        for plane in chroma:
            plane.update(bytes([128]) * plane.buffer_size)
        return frame

    def row(self, size):
        """Squares of 16 pixels."""
        return b"".join(bytes([grey]) * 16 for grey in self.random.randbytes(size // 16))


async def write(writer, description):
    """Sends a session description."""
    writer.write(description.sdp.encode() + b"\0")
    await writer.drain()


async def read(reader, kind):
    """Receives a session description, which is an `offer` or an `answer`."""
    return RTCSessionDescription((await reader.readuntil(b"\0"))[:-1].decode(), kind)


async def call(reader, writer):
    """Sends video to each client until its connection closes."""
    peer = RTCPeerConnection(HERE_ONLY)
    peer.addTrack(Noise())
    await peer.setLocalDescription(await peer.createOffer())
    await write(writer, peer.localDescription)
    await peer.setRemoteDescription(await read(reader, "answer"))
    await reader.read()
    await peer.close()
    writer.close()


async def server():
    """Answers calls until it is ended."""
    await (await asyncio.start_server(call, port=PORT)).serve_forever()


async def client(address, seconds):
    """Calls the server and counts the frames that arrive."""
    peer = RTCPeerConnection(HERE_ONLY)
    tracks = []
    peer.on("track", tracks.append)
    reader, writer = await asyncio.open_connection(address, PORT)
    await peer.setRemoteDescription(await read(reader, "offer"))
    await peer.setLocalDescription(await peer.createAnswer())
    await write(writer, peer.localDescription)
    frames = 0

    async def count():
        nonlocal frames
        while True:
            await tracks[0].recv()
            frames += 1

    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(count(), seconds)
    print(f"aiortc: {frames} frames in {seconds} s")
    writer.close()
    await peer.close()


match sys.argv[1:]:
    case ["server"]:
        asyncio.run(server())
    case ["client", address, seconds]:
        asyncio.run(client(address, float(seconds)))
    case _:
        sys.exit("usage: call.py server | call.py client ADDRESS SECONDS")
