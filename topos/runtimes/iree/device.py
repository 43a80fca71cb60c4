"""IREE's devices: one of each name a process, shared by every executable and resident there."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import ml_dtypes  # noqa: F401  # numpy knows bfloat16 and its like by name from here on.
import numpy as np

from topos.errors import ArgumentError, CompileError, ExecutionError, UnavailableError
from topos.payload.storage import ALIGNMENT
from topos.runtimes._placed import Placed, owned
from topos.runtimes._signature import Array, ArrayType

# The first is the default: a small call takes a third of the time there.
DEVICES: Final = ("local-sync", "local-task")
# A smaller argument is copied in less time than it takes to lend it.
SMALLEST_LENT: Final = 2**16

# What the bindings call the elements of a buffer, by numpy's name.
ELEMENTS: Final = {
    "bool": "BOOL_8",
    "bfloat16": "BFLOAT_16",
    "complex64": "COMPLEX_64",
    "complex128": "COMPLEX_128",
    "float8_e4m3fn": "FLOAT_8_E4M3_FN",
    "float8_e5m2": "FLOAT_8_E5M2",
    "float16": "FLOAT_16",
    "float32": "FLOAT_32",
    "float64": "FLOAT_64",
    **{f"int{bits}": f"SINT_{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UINT_{bits}" for bits in (8, 16, 32, 64)},
}

# Classes of the bindings have no static type: iree may be absent.
Binding = Any


class Buffer(NamedTuple):
    """A buffer of IREE's; `memory` is what it lies over, where that is not IREE's own."""

    view: Binding
    memory: Array | None = None


class Device:
    """A device with its memory, which is this process's own; make it by `device_of`.

    Calls from several threads are safe: what may not be entered twice is a program's context.
    """

    def __init__(self, name: str) -> None:
        from iree import runtime

        self.name, self.place = name, f"iree's {name}"
        self._config = runtime.Config(name)
        self._allocator = self._config.device.allocator
        self._view, self._list = runtime.HalBufferView, runtime.VmVariantList
        self._elements = {
            np.dtype(name): getattr(runtime.HalElementType, own) for name, own in ELEMENTS.items()
        }
        self._local = runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE
        self._usage = int(runtime.BufferUsage.DEFAULT) | int(runtime.BufferUsage.MAPPING)
        self._module, self._context = runtime.VmModule, runtime.VmContext
        # The threads of a device stay in the process that started them.
        self._owner = os.getpid()

    def program(self, code: bytes) -> Program:
        """Returns the binary loaded, or raises `CompileError` for one without a @main."""
        try:
            module = self._module.copy_buffer(self._config.vm_instance, code)
            context = self._context(
                self._config.vm_instance, [*self._config.default_vm_modules, module]
            )
            main = module.lookup_function("main")
        # The bindings raise what they like at a binary that is none.
        except Exception as error:
            raise CompileError(f"iree cannot load what it compiled: {error!r}") from error
        if main is None:
            raise CompileError("iree cannot load what it compiled: it has no function main")
        return Program(self, context, main)

    def placed(self, array: Array) -> Placed:
        """Returns `array` as a resident of this device: in place where it is fit, or copied."""
        held, type = owned(array), ArrayType(array.shape, array.dtype)
        if array.dtype not in self._elements:
            raise ArgumentError(f"{self.place} cannot hold an array of {type}")
        return Placed(type, self.place, self._over(held))

    def lent(self, array: Array) -> Buffer:
        """Returns a buffer for one call, over the array itself where that is worth the while."""
        if array.nbytes < SMALLEST_LENT or array.ctypes.data % ALIGNMENT:
            return self.copied(array)
        return self._over(array) if array.flags.c_contiguous else self.copied(array)

    def copied(self, array: Array) -> Buffer:
        """Returns a buffer of its own with the elements of `array`."""
        element, device = self._elements[array.dtype], self._config.device
        # numpy gives nobody a buffer of the elements that another package registered with it.
        if array.flags.c_contiguous and array.dtype.isbuiltin == 1:
            return Buffer(
                self._allocator.allocate_buffer_copy(
                    self._local, self._usage, device, array, element
                )
            )
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        buffer = self._allocator.allocate_buffer_copy(self._local, self._usage, device, flat)
        return Buffer(self._view(buffer, array.shape, element))

    def fetched(self, view: Binding, type: ArrayType) -> Array:
        """Returns a copy of a buffer: a view of one is overwritten once its handle is gone."""
        array = np.empty(type.shape, type.dtype)
        if array.size:
            raw = view.map().asarray((array.nbytes,), np.dtype(np.uint8))
            array.reshape(-1).view(np.uint8)[...] = raw
        return array

    def _over(self, array: Array) -> Buffer:
        """Returns a buffer over the memory of an array that stays as it is."""
        if not array.size:
            return self.copied(array)
        # The bindings ask for memory that may be written to; `keep_values` keeps IREE from it.
        memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
        buffer = self._allocator.import_host_allocation(memory, self._local, self._usage)
        view = self._view(buffer, array.shape, self._elements[array.dtype])
        return Buffer(view, array)

    def called(self, context: Binding, main: Binding, buffers: Sequence[Buffer]) -> list[Binding]:
        """Returns the buffers of the results of `main`."""
        if self.name != DEVICES[0] and os.getpid() != self._owner:
            raise ExecutionError(f"{self.place} stayed in the process that this one is a fork of")
        arguments, results = self._list(len(buffers)), self._list(1)
        for buffer in buffers:
            arguments.push_ref(buffer.view)
        context.invoke(main, arguments, results)
        return [results.get_as_object(place, self._view) for place in range(len(results))]


class Program:
    """A loaded module; IREE asks its users to enter a context from one thread at a time.

    Calls of one program from several threads so wait for each other; two programs run side by
    side.
    """

    def __init__(self, device: Device, context: Binding, main: Binding) -> None:
        self.device = device
        self._lock = threading.Lock()
        # The function needs the context for as long as it is called.
        self._context, self._main = context, main

    def run(self, buffers: Sequence[Buffer]) -> list[Binding]:
        """Returns the results on the device for arguments there."""
        with self._lock:
            return self.device.called(self._context, self._main, buffers)


_DEVICES: dict[str, Device] = {}
_LOCK = threading.Lock()


def device_of(name: str) -> Device:
    """Returns the device called `name`; raises `UnavailableError` where IREE has none."""
    with _LOCK:
        if name not in _DEVICES:
            try:
                _DEVICES[name] = Device(name)
            # No such driver, or no threads to be had for it.
            except Exception as error:
                raise UnavailableError(f"iree cannot open its device {name}: {error}") from error
        return _DEVICES[name]
