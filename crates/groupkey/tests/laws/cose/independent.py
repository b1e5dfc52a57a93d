"""Reads and makes group messages with pycose, an implementation of COSE that is not ours.

Input and output are JSON. Only how keys are derived is spelled out here, from docs/messages.md.
"""

import hashlib
import hmac
import json
import sys

from pycose.algorithms import AESCCM16128128, EdDSA
from pycose.headers import IV, KID, Algorithm, ContentType, KIDContext, PartialIV
from pycose.keys import OKPKey, SymmetricKey
from pycose.keys.curves import Ed25519
from pycose.keys.keyops import DecryptOp, EncryptOp, VerifyOp
from pycose.keys.keyparam import KpAlg, KpKeyOps
from pycose.messages import CoseMessage, Enc0Message

COSE_SIGN1 = 18

# RFC 9052 section 3.1: the partial IV, padded with zeros on the left to the nonce's length. pycose 1.1
# drops the zeros again, which a nonce of fixed length cannot do without.
def nonce(message):
    return message.phdr[IV] if IV in message.phdr else message.phdr[PartialIV].rjust(13, b"\0")


Enc0Message._get_nonce = nonce


def derived(group, secret, label, context):
    pseudorandom = hmac.digest(group, secret, hashlib.sha256)
    return hmac.digest(pseudorandom, label + b"\0" + context + b"\1", hashlib.sha256)[:16]


def synthetic_nonce(group, key, counter, content):
    hashed = derived(group, key, b"groupkey message nonce", counter.to_bytes(8, "big") + content)
    return hashed[3:11] + counter.to_bytes(5, "big")


def sender_key(group, group_key, kid, kid_context, operation):
    key = derived(group, group_key, b"groupkey message", kid + kid_context)
    return SymmetricKey(k=key, optional_params={KpAlg: AESCCM16128128, KpKeyOps: [operation]})


def read(case):
    raw = bytes.fromhex(case["message"])
    message = CoseMessage.decode(raw)
    assert isinstance(message, Enc0Message)
    header = message.phdr
    kid, context = header[KID], header[KIDContext]
    group = bytes.fromhex(case["group_context"])
    message.key = sender_key(group, bytes.fromhex(case["group_key"]), kid, context, DecryptOp)
    message.external_aad = group
    content = message.decrypt()
    if header.get(ContentType) == COSE_SIGN1:
        signed = CoseMessage.decode(content)
        binding = derived(group, message.key.k, b"groupkey signed message", b"")
        signed.external_aad = message.phdr_encoded + binding
        signed.key = OKPKey(
            crv=Ed25519,
            x=bytes.fromhex(case["public_identity"]),
            optional_params={KpAlg: EdDSA, KpKeyOps: [VerifyOp]},
        )
        assert signed.verify_signature(), "the signature does not verify"
        content = signed.payload
    counter = int.from_bytes(nonce(message)[-5:], "big")
    if IV in header:
        assert header[IV] == synthetic_nonce(group, message.key.k, counter, content)
    return {
        "group": int.from_bytes(kid[:8], "big"),
        "epoch": int.from_bytes(kid[8:], "big"),
        "sender": int.from_bytes(context[:4], "big"),
        "counter": counter,
        "content": content.hex(),
    }


def make(case):
    kid = case["group"].to_bytes(8, "big") + case["epoch"].to_bytes(8, "big")
    context = case["sender"].to_bytes(4, "big") + b"sessions"
    group, content = bytes.fromhex(case["group_context"]), bytes.fromhex(case["content"])
    key = sender_key(group, bytes.fromhex(case["group_key"]), kid, context, EncryptOp)
    if case["nonces"] == "synthetic":
        number = {IV: synthetic_nonce(group, key.k, case["counter"], content)}
    else:
        number = {PartialIV: bytes([case["counter"]])}
    header = {Algorithm: AESCCM16128128, KID: kid, **number, KIDContext: context}
    message = Enc0Message(phdr=header, payload=content)
    message.key = key
    message.external_aad = group
    return {"message": message.encode().hex()}


requests = json.load(sys.stdin)
json.dump([{"read": read, "make": make}[case["do"]](case) for case in requests], sys.stdout)
