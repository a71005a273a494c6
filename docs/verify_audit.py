"""Verify an export of waypost's audit log against a signed checkpoint, without any code of waypost.

Usage: verify_audit.py LOG CHECKPOINT KEY

LOG is the output of `waypost audit export`, CHECKPOINT a file with that of `waypost audit checkpoint`, now or at any
earlier time, and KEY the text that `waypost audit checkpoint --key` prints. Needs Python 3.11 and `cryptography`.
"""

import base64
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def main() -> None:
    """Print the result. The exit status is 1 if the log is not the one that was signed."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    log, note, key = sys.argv[1:]
    size, expected = read_checkpoint(Path(note).read_text("utf-8"), key)
    with Path(log).open("rb") as lines:
        hashes, deleted = read_log(lines, size)
    if root(hashes) != expected:
        sys.exit("The log was changed: its events do not have the root that was signed.")
    sys.stdout.write(f"The first {size} events are those that were signed; {deleted} of them were deleted since.\n")


def read_checkpoint(note: str, key: str) -> tuple[int, bytes]:
    """Return the size and the root that a checkpoint signs (C2SP tlog-checkpoint and signed-note)."""
    name, key_id, encoded = key.split("+", 2)
    public = base64.b64decode(encoded)
    if public[:1] != b"\1" or hashlib.sha256(name.encode() + b"\n" + public).digest()[:4].hex() != key_id:
        sys.exit("The key is not one for Ed25519.")
    body, _, signatures = note.partition("\n\n")
    for line in signatures.splitlines():
        dash, _, rest = line.partition(" ")
        signer, _, text = rest.partition(" ")
        if dash == "\N{EM DASH}" and signer == name and is_signed(f"{body}\n", text, public, key_id):
            origin, size, encoded_root = body.split("\n")[:3]
            if origin == name:
                return int(size), base64.b64decode(encoded_root)
    sys.exit("The checkpoint has no valid signature of this key.")


def is_signed(body: str, text: str, public: bytes, key_id: str) -> bool:
    """Return whether a signature is one of the key."""
    signature = base64.b64decode(text)
    if signature[:4].hex() != key_id:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public[1:]).verify(signature[4:], body.encode())
    except InvalidSignature:
        return False
    return True


def read_log(lines: Iterable[bytes], size: int) -> tuple[list[bytes], int]:
    """Return the hashes of the first `size` events, and how many of them the log has only the hash of."""
    hashes: list[bytes] = []
    deleted = 0
    for line in lines:
        if len(hashes) == size:
            break
        event = json.loads(line)
        if event["position"] != len(hashes):
            sys.exit(f"Position {len(hashes)} is missing, or the lines are not in their order.")
        if event.keys() == {"hash", "position"}:
            hashes.append(bytes.fromhex(event["hash"]))
            deleted += 1
        else:
            hashes.append(hashlib.sha256(b"\0" + line.rstrip(b"\n")).digest())
    if len(hashes) < size:
        sys.exit(f"The log ends at {len(hashes)} events, the checkpoint was signed with {size}.")
    return hashes, deleted


def root(hashes: list[bytes]) -> bytes:
    """Return the root of the Merkle tree over these hashes of leaves (RFC 6962, section 2.1)."""
    subtrees: list[tuple[int, bytes]] = []  # of full subtrees, the largest first: their height and root
    for leaf in hashes:
        height, node = 0, leaf
        while subtrees and subtrees[-1][0] == height:
            node = hashlib.sha256(b"\1" + subtrees.pop()[1] + node).digest()
            height += 1
        subtrees.append((height, node))
    if not subtrees:
        return hashlib.sha256().digest()
    joined = subtrees.pop()[1]
    while subtrees:
        joined = hashlib.sha256(b"\1" + subtrees.pop()[1] + joined).digest()
    return joined


if __name__ == "__main__":
    main()
