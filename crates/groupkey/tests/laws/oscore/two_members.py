"""Reads pairs of Group OSCORE contexts as JSON. The first of each pair sends a CoAP request in group
mode, the second one answers. Prints what each pair heard: null, if the second one cannot read it."""

import json
import sys

import aiocoap
from aiocoap import oscore


def security_context(exported):
    credentials = {bytes.fromhex(kid): bytes.fromhex(ccs) for kid, ccs in exported["credentials"]}
    own = bytes.fromhex(exported["sender_id"])
    return oscore.SimpleGroupContext(
        alg_aead=oscore.algorithms["AES-CCM-16-64-128"],
        hashfun=oscore.hashfunctions["sha256"],
        alg_signature=oscore.algorithms_countersign["EdDSA on Ed25519"],
        alg_group_enc=oscore.algorithms["AES-CCM-16-64-128"],
        alg_pairwise_key_agreement=oscore.algorithms_staticstatic["ECDH-SS + HKDF-256"],
        group_id=bytes.fromhex(exported["group_identifier"]),
        master_secret=bytes.fromhex(exported["master_secret"]),
        master_salt=bytes.fromhex(exported["master_salt"]),
        sender_id=own,
        private_key=bytes.fromhex(exported["private_key"]),
        sender_auth_cred=credentials.pop(own),
        peers=credentials,
        # Groups without a manager have none; both sides take the same bytes.
        group_manager_cred=b"",
    )


def over_the_wire(message):
    message.mid, message.token = 1, b"t"
    message.mtype = aiocoap.NON
    return aiocoap.Message.decode(message.encode())


def receiver_of(context, message):
    unprotected = oscore.verify_start(message)
    receiver = context.get_oscore_context_for(unprotected)
    if receiver is None:
        raise oscore.ProtectionInvalid("nobody with this identifier")
    return receiver


def heard(sender, receiver):
    sender, receiver = security_context(sender), security_context(receiver)
    request = aiocoap.Message(code=aiocoap.POST, payload=b"a payload, ")
    protected, sent = sender.protect(request)
    arrived = over_the_wire(protected)
    assert b"a payload" not in arrived.payload
    try:
        reading = receiver_of(receiver, arrived)
        read, received = reading.unprotect(arrived)
    except oscore.ProtectionInvalid:
        return None
    answer = aiocoap.Message(code=aiocoap.CONTENT, payload=b"and its answer")
    protected, _ = receiver.protect(answer, received)
    arrived = over_the_wire(protected)
    unprotected = oscore.verify_start(arrived)
    reading = sender.context_from_response(unprotected)
    answer, _ = reading.unprotect(arrived, sent)
    return (read.payload + answer.payload).decode()


json.dump([heard(*pair) for pair in json.load(sys.stdin)], sys.stdout)
