#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unpack the ELF image of a bzImage, which QEMU starts by its PVH note."""

import lzma
import struct
import subprocess
import sys
import zlib


def unpack(image):
    """By the boot protocol's header (Linux, Documentation/x86/boot.rst)."""
    sectors = image[0x1f1] or 4
    if image[0x202:0x206] != b"HdrS":
        raise ValueError("not a bzImage")
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start:start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    # Behind the others' data is their size unpacked.
    for magic, command in ((b"\x28\xb5\x2f\xfd", ["zstd", "-dc"]), (b"\x02\x21\x4c\x18", ["lz4", "-dc"])):
        if payload.startswith(magic):
            return subprocess.run(command, input=payload[:-4], stdout=subprocess.PIPE, check=True).stdout
    raise ValueError(f"compressed in an unknown way: {payload[:6].hex()}")


def main():
    with open(sys.argv[1], "rb") as file:
        elf = unpack(file.read())
    if not elf.startswith(b"\x7fELF"):
        raise ValueError("no ELF inside")
    with open(sys.argv[2], "wb") as file:
        file.write(elf)


if __name__ == "__main__":
    main()
