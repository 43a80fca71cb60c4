"""Custom calls: the operations that a text knows by a target's name, one file a subject."""

from topos.runtimes.interpreter.custom_calls.call import (
    CustomCall,
    CustomKernel,
    check_of,
    is_shipped,
    kernel_of,
    register_custom_call,
)

__all__ = [
    "CustomCall",
    "CustomKernel",
    "check_of",
    "is_shipped",
    "kernel_of",
    "register_custom_call",
]
