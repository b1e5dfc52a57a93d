"""Prints vectors of the exporter, computed with a library that is not ours (cryptography, from PyPI).

python3 vectors.py > vectors.jsonl
"""

import json
from hashlib import sha256

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def number(value, length):
    return value.to_bytes(length, "big")


def vector(part, epoch, key, label, context, length):
    group = sha256(number(len(part), 8) + part).digest()
    info = b"groupkey export\0" + number(epoch, 8) + number(length, 2)
    info += number(len(label.encode()), 2) + label.encode() + context
    output = HKDF(SHA256(), length, group, info).derive(key)
    row = {"part": part.hex(), "group_context": group.hex(), "epoch": epoch, "group_key": key.hex()}
    row |= {"label": label, "context": context.hex(), "output": output.hex()}
    print(json.dumps(row))


vector(b"a", 7, bytes([9] * 16), "srtp", b"video", 20)
vector(b"a", 7, bytes([9] * 16), "srtp", b"video", 30)
vector(b"a", 7, bytes([9] * 16), "srtp", b"", 30)
vector(b"a", 8, bytes([9] * 16), "srtp", b"", 30)
vector(b"plant/7", 1, bytes(range(16)), "esp-now", b"", 16)
vector(b"plant/7", 2**64 - 1, bytes(range(16)), "lorawan multicast", bytes(range(200)), 32)
vector(b"", 0, bytes(16), "", b"", 1)
vector(b"x", 3, b"sixteen bytes ..", "Glätte", b"\0", 255 * 32)
