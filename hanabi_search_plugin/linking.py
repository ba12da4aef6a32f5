"""How kernels call each other: by symbol, each compiled once, as separate C files are.

Numba links the LLVM code of whatever a function calls into its caller, optimises both together and
makes machine code of both again. That is what helpers under `inline` are for. A kernel or routine
is long, so it stays outside the kernels that call it; their machine code names it, and the file in
which they are kept says where it comes from.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["InlineCompiler", "KernelCompiler", "KernelName", "name_kernel", "take_kernel"]


@dataclass(frozen=True)
class KernelName:
    """What machine code calls a kernel, and where that kernel is found in any process."""

    symbol: str
    module: str
    function: str
    arguments: tuple[Any, ...]

    def find(self) -> KernelLibrary:
        """Load the kernel, or compile it, and let `symbol` mean it in this process.

        The symbol has a number that counts what a process compiled before: of a kernel that two
        processes compiled at once, the file has the symbol of one.
        """
        dispatcher = getattr(importlib.import_module(self.module), self.function)
        dispatcher.compile(self.arguments)
        compiled = dispatcher.overloads[self.arguments]
        symbol, library = compiled.fndesc.llvm_func_name, compiled.library
        if symbol != self.symbol:
            binding.add_symbol(self.symbol, library.get_pointer_to_function(symbol))
        return library  # type: ignore[no-any-return]  # Numba is untyped


class KernelLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba is untyped
    """The code of a kernel, without that of the kernels that it calls."""

    name_of_kernel: KernelName | None = None  # None: linked into its callers, as Numba does

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.called: dict[KernelName, KernelLibrary] = {}

    def add_linking_library(self, library: Any) -> None:
        name = getattr(library, "name_of_kernel", None)
        if name is None:
            super().add_linking_library(library)
        else:
            self.called[name] = library

    def _get_module_for_linking(self) -> Any:
        """For a caller that is not a kernel of the package: with all that is called."""
        own = super()._get_module_for_linking()
        if not self.called:
            return own
        whole = own.clone()
        for name, library in self.called.items():
            callee = library._get_module_for_linking().clone()
            assert library.name_of_kernel is not None  # or it would have been linked
            callee.get_function(library.name_of_kernel.symbol).name = name.symbol
            whole.link_in(callee)
        return whole

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        self._ensure_finalized()
        own = super()._get_module_for_linking()
        return (self.name, "object", (self._get_compiled_object(), own.as_bitcode()))


def name_kernel(compiled: Any, function: Callable[..., Any]) -> None:
    """Keep a compiled kernel out of the kernels that will call it."""
    compiled.library.name_of_kernel = KernelName(
        compiled.fndesc.llvm_func_name,
        function.__module__,
        function.__qualname__,
        tuple(compiled.signature.args),
    )


def take_kernel(
    compiled: Any, function: Callable[..., Any], called: dict[KernelName, KernelLibrary]
) -> None:
    """The same for a kernel that Numba made anew from a file; it keeps what it calls alive."""
    compiled.library.__class__ = KernelLibrary
    compiled.library.called = called
    name_kernel(compiled, function)


class _InlineLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba is untyped
    """LLVM's form of a helper, which kernels link in and optimise as a part of theirs.

    No machine code is made of it alone: bots and searches take a fifth less to compile so.
    """

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def _optimize_final_module(self) -> None:
        pass

    @property
    def codegen(self) -> Any:
        """What is told the environment of a function in machine code."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _CompilerInto(Compiler):  # type: ignore[misc]  # Numba is untyped
    """Numba's compiler, whose code goes into a library of our own."""

    library: type[JITCodeLibrary]

    def _compile_core(self) -> Any:
        codegen = self.state.targetctx.codegen()
        self.state.library = self.library(codegen, self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super()._compile_core()


class KernelCompiler(_CompilerInto):
    """For kernels and routines."""

    library = KernelLibrary


class InlineCompiler(_CompilerInto):
    """For helpers that are inlined."""

    library = _InlineLibrary
