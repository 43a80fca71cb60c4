"""Arguments whose results lie next to a midpoint of two float64 numbers.

They were found by exhaustive searches: V. Lefevre, J.-M. Muller, Worst cases for correct rounding
of the elementary functions in double precision (2001), and the CORE-MATH project, which extends
its lists. A test measures that each result lies within 2**-40 of a unit of its last place.
"""

from __future__ import annotations

from typing import Final

__all__ = ["HARD_CASES"]

_HEXADECIMAL: Final = {
    "exp": """
        0x1.a8ead058bc6b8p+3 0x1.9e9cbbfd6080bp-31 -0x1.02393d5976769p+1 -0x1.12d31a20fb38bp+5
        0x1.005ae04256babp-1 0x1.1ccc04043b516p+0 0x1.accfbe46b4efp-1 -0x1.fa58000000fa6p-41
        -0x1.fb1a000003ec8p-39 -0x1.fcde6d5f38383p-27 -0x1.ff171507f8ba5p-30 -0x1.fd58bdef05847p+0
        -0x1.f9a7b9bbeb691p+6 -0x1.f53f5c5239924p+8 -0x1.fc465b97d4e21p+7 -0x1.fd7473ea3d816p+8
        -0x1.fa499060ff024p+1 -0x1.f653eff730bdp+5
    """,
    "expm1": """
        -0x1.8c019dbbf2c67p-36 -0x1.bb67ae8584c2cp-52 -0x1.03f81f636b80dp-47
        -0x1.ef00a57ead491p-35 -0x1.793226013000dp-20 -0x1.723f3a00a0652p-20
        0x1.77cfddb7c009fp+5 -0x1.001ffe004000bp-42 0x1.c48c6001f0ac7p-49
    """,
    "ln": """
        0x1.613955dc802f8p-35 0x1.1f1f3da2014bbp+1 0x1.dacc581d105a4p+1 0x1.0092086ce40eap+27
        0x1.3758bc4bfe3edp+8 0x1.bbfff9457d5c3p+0 0x1.b511b4be9cc84p+6 0x1.69f42533c22b5p+32
        0x1.7d822b508bb3bp+20 0x1.0bb1a825d53dp+30
    """,
    "log1p": """
        -0x1.fffffffffffd5p-47 -0x1.fffffffffffebp-48 -0x1.ffffffffffff5p-49
        -0x1.ffffffffffff7p-49 -0x1.ffffffffffff9p-50 -0x1.ffffffffffffdp-51
        -0x1.fffffffffffffp-52
    """,
    "tanh": "0x1.fcf0a93ea21a5p-22 0x1.94503a1406f71p+3 0x1.ef6d7e9c3ab8ep-22",
    "sin": """
        0x1.598bae9e632f6p-7 0x1.005023d32fee5p+1 0x1.184a0aa58192p-24 0x1.30c7efbee12aep-24
        0x1.4cc2efddec33bp-12 0x1.1e02cffedca63p-22 0x1.0e9f8bb095163p+1 0x1.159ac70d764a8p-20
        0x1.5f07120fe56a5p-23 0x1.4edf1a75186dfp-22 0x1.2f2cc9bd434fbp+1 0x1.00e730f98fd44p-9
        0x1.0518fffe634f2p-2 0x1.4c83cd7b31f41p-16 0x1.23bdf8073f62fp-13
    """,
    "cos": "0x1.34ec2f9fc9c00p+1 0x1.58a02f46988d6p+10 0x1.57c1d083dbf66p+10",
    "erf": "0x1.6d5ad4307dd52p-7 0x1.037b548d9d7a6p-61 0x1.fe91645ae5b6p-1023",
    "rsqrt": """
        0x1.f8519026b6af6p+0 0x1.f7238b544d0c9p+0 0x1.fcbd5f9640a0fp+0 0x1.f6580586aa454p+0
        0x1.ff92b3c01855ap+0
    """,
}

HARD_CASES: Final = {
    name: tuple(float.fromhex(number) for number in text.split())
    for name, text in _HEXADECIMAL.items()
}
