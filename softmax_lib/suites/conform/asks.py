"""What `softmax-lib conform` asks of a softmax: recipes, each a small function of it and of noise."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed, func, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad, functional, grad
from torch.masked import masked_tensor
from torch.utils.checkpoint import checkpoint

REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError)
"""What is raised by who knows what it does not take."""

Softmax = Callable[..., Any]
"""Of a tensor and a dimension, as `torch.softmax`; some take `out`, `scale`, `mask` and `causal` besides."""


class Wrong(Exception):
    """What an ask itself finds wrong, as a sentence."""


class Skipped(Exception):
    """Why nobody can be asked here."""


class Ask(NamedTuple):
    """A recipe: what it does with a softmax and noise of a shape.

    One that is `alone` has a process of its own: who takes memory for what it is not may break it. One that `finds` its
    own faults is not compared with torch; others with what torch's gives by `want`, where that is not the recipe itself.
    """

    do: Callable[[Softmax, Tensor], Any]
    shape: tuple[int, ...] = (4, 12)
    alone: bool = False
    finds: bool = False
    want: Callable[[Softmax, Tensor], Any] | None = None


def noise(device: str, *shape: int) -> Tensor:
    """Always the same numbers."""
    generator = torch.Generator(device).manual_seed(0)
    return torch.randn(shape, device=device, generator=generator).mul_(2)


@cache
def asks(device: str) -> dict[str, Ask]:
    """All of them, each by its kind and name: "scores: causal"."""
    found: dict[str, Ask] = {}
    for (name, make), (role, do) in product(ODD.items(), _ROLES.items()):
        kind = "layouts" if role.startswith("x") else "outs and gradients"
        alone = name in _NO_MEMORY and role in ("x", "out")
        found[f"{kind}: {name} as {role}"] = Ask(partial(_odd, do, make), alone=alone)
    real = partial(_strides, None)  # as torch's fake logarithm has not
    for place, want in (("real", None), ("meta", None), ("fake", real)):
        found[f"strides: {place}"] = Ask(partial(_strides, ODD.get(place)), (400,), want=want)
    for name, of in _TRANSFORMS.items():
        eager = partial(_transformed, of)
        found[f"transforms: {name}"] = Ask(eager)
        found[f"compiled: {name}"] = Ask(partial(_compiled, of), want=eager)
    compiled = partial(_on_other_shapes, partial(_compile, device=device, dynamic=True))
    found["compiled: on other shapes"] = Ask(compiled, want=partial(_on_other_shapes, lambda f: f))
    for name, do in _OF_NOISE.items():
        if device == "cuda" or "CUDA" not in name:
            found[name] = Ask(do, (2, 3, 40, 40)) if name.startswith("scores") else Ask(do)
    for name, dtype in _DTYPES.items():
        found[f"torch's samples: {name}"] = Ask(partial(_samples, dtype))
    found["bad input: out over a part of x"] = Ask(_overwriting, finds=True)
    for backward, cols, (name, dtype) in product((False, True), _LENGTHS, _DTYPES.items()):
        bits = Ask(partial(_bits, dtype, backward), (_ROWS, cols), finds=True)
        found[f"bits{' of gradients' * backward}: {cols} {name}"] = bits
    return found


# ---- tensors out of the ordinary, each made of one of (4, 12)


class Mine(Tensor):
    """As a user's own."""


def _distributed(x: Tensor) -> Tensor:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    if not distributed.is_initialized():
        store = distributed.HashStore()
        distributed.init_process_group("cuda:nccl,cpu:gloo" if x.is_cuda else "gloo", store=store, rank=0, world_size=1)  # fmt: skip
    return DTensor.from_local(x, init_device_mesh(x.device.type, (1,)), [Shard(0)])


ODD: dict[str, Callable[[Tensor], Any]] = {
    "jagged": lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged),
    "nested": lambda x: torch.nested.nested_tensor([x, x[:2]]),
    "coo": lambda x: x.to_sparse(), "csr": lambda x: x.to_sparse_csr(),
    "masked": lambda x: masked_tensor(x, x > 0),
    "quantized": lambda x: torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).to(x.device),
    "complex": lambda x: torch.complex(x, x),
    "meta": lambda x: x.to("meta"), "fake": lambda x: FakeTensorMode().from_tensor(x), "DTensor": _distributed,
    "a subclass": lambda x: x.clone().as_subclass(Mine),
    "signs to be turned": lambda x: torch.complex(x, x).conj().imag,
    "zeros that nobody wrote": lambda x: torch._efficientzerotensor(x.shape, device=x.device),
    "no rows": lambda x: x[:0], "rows of none": lambda x: x[:, :0],
    "expanded": lambda x: x[:1].expand_as(x), "overlapping": lambda x: x.as_strided(x.shape, (3, 1)),
}  # fmt: skip
_NO_MEMORY = ("jagged", "nested", "quantized", "meta", "fake", "DTensor", "zeros that nobody wrote")
_ROLES: dict[str, Callable[[Softmax, Tensor, Any], Any]] = {
    "x": lambda f, x, odd: f(odd, -1),
    "x along dim 1": lambda f, x, odd: f(odd, 1),
    "out": lambda f, x, odd: f(x, -1, out=odd),
    "mask": lambda f, x, odd: f(x, -1, mask=odd),
    "gradient": lambda f, x, odd: grad(f(x.requires_grad_(), -1), x, odd)[0],
}


def _odd(do: Callable[..., Any], make: Callable[[Tensor], Any], f: Softmax, x: Tensor) -> Any:
    return do(f, x, make(x.flip(0)))


_STRIDES = (
    ((1, 5, 3), (99, 3, 1)), ((4, 1, 8), (8, 1, 1)), ((3, 0, 4), (7, 5, 1)), ((6, 5, 4), (1, 6, 30)), ((2, 3, 4, 5), (60, 1, 15, 3)),
    ((3, 4), (0, 7)), ((2, 1, 1), (1, 9, 9)),
)  # fmt: skip


def _strides(make: Callable[[Tensor], Any] | None, f: Softmax, x: Tensor) -> Tensor:
    """Of results, one behind another."""
    odd = make(x) if make else x
    steps: list[int] = []
    for shape, strides in _STRIDES:
        with getattr(odd, "fake_mode", nullcontext()):
            made = odd.as_strided(shape, strides)
            steps += [one for dim, n in enumerate(shape) if n for one in f(made, dim).stride()]
    return torch.tensor(steps)


# ---- what torch makes of a function


def _jvp(f: Softmax) -> Softmax:
    return lambda x: func.jvp(f, (x,), (x.sin(),))[1]


def _sum(f: Softmax) -> Softmax:
    return lambda x: f(x).square().sum()


_TRANSFORMS: dict[str, Callable[[Softmax], Softmax]] = {
    "a call": lambda f: f, "grad": lambda f: func.grad(_sum(f)), "jvp": _jvp,
    "vjp": lambda f: lambda x: func.vjp(f, x)[1](f(x).sin())[0],
    "vmap": func.vmap, "jacfwd": func.jacfwd, "jacrev": func.jacrev, "hessian": lambda f: func.hessian(_sum(f)),
    "vmap of grad": lambda f: func.vmap(func.grad(_sum(f))), "grad of vmap": lambda f: func.grad(_sum(func.vmap(f))),
    "vmap of vmap": lambda f: func.vmap(func.vmap(lambda x: f(x[None])[0])), "vmap of jvp": lambda f: func.vmap(_jvp(f)),
    "jacrev of jacfwd": lambda f: func.jacrev(func.jacfwd(f)),
}  # fmt: skip


def _transformed(of: Callable[[Softmax], Softmax], f: Softmax, x: Tensor) -> Any:
    return of(lambda x: f(x, -1))(x)


def _compiled(of: Callable[[Softmax], Softmax], f: Softmax, x: Tensor) -> Any:
    return _compile(of(lambda x: f(x, -1)), x.device.type)(x)


def _on_other_shapes(of: Callable[[Softmax], Softmax], f: Softmax, x: Tensor) -> Tensor:
    made = of(lambda x: f(x, -1))
    return torch.cat([made(one).flatten() for one in (x, x.repeat(3, 80)[:, :900])])


def _compile(f: Softmax, device: str, dynamic: bool | None = None) -> Softmax:
    torch._dynamo.reset()
    backend = "inductor" if device == "cuda" else "aot_eager"  # the CPU's would want a compiler
    return torch.compile(f, fullgraph=True, backend=backend, dynamic=dynamic)


def _module(f: Softmax) -> nn.Module:
    made = nn.Module()
    made.forward = lambda x: f(x, -1)
    return made


def _dual(f: Softmax, x: Tensor) -> Tensor:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, x.sin()), -1)).tangent.clone()


def _into(out: Tensor, f: Softmax, x: Tensor) -> Any:
    before = out.clone()
    try:
        return f(x, -1, out=out)
    except Exception:
        if not out.is_meta and not torch.equal(out, before):
            raise Wrong("It refuses, and has written.") from None
        raise


def _graph(f: Softmax, x: Tensor) -> Tensor:
    f(x, -1)  # what it compiles first
    torch.cuda.synchronize()
    with torch.cuda.graph(graph := torch.cuda.CUDAGraph()):
        y = f(x, -1)
    x.copy_(x.sin())
    graph.replay()
    return y


_OF_NOISE: dict[str, Callable[[Softmax, Tensor], Any]] = {
    "transforms: is_grads_batched": lambda f, x: grad(
        y := f(x.requires_grad_(), -1), x, y.detach().sin().expand(4, *y.shape), is_grads_batched=True
    )[0],
    "transforms: jacobian": lambda f, x: functional.jacobian(lambda x: f(x, -1), x),
    "transforms: jacobian(vectorize=True)": lambda f, x: functional.jacobian(lambda x: f(x, -1), x, vectorize=True),
    "transforms: jacobian, forwards": lambda f, x: functional.jacobian(lambda x: f(x, -1), x, vectorize=True, strategy="forward-mode"),
    "transforms: a gradient's gradient": lambda f, x: grad(
        grad(f(x.requires_grad_(), -1).square().sum(), x, create_graph=True)[0].square().sum(), x
    )[0],
    "transforms: dual numbers": _dual,
    "transforms: checkpoint": lambda f, x: grad(checkpoint(f, x.requires_grad_(), -1, use_reentrant=False).square().sum(), x)[0],
    "exports and traces: export": lambda f, x: torch.export.export(_module(f), (x,)).module()(x),
    "exports and traces: trace, on another shape": lambda f, x: torch.jit.trace(_module(f), x)(x.repeat(2, 6000)),
    "exports and traces: CUDA graph": _graph,
    "scores: scale": lambda f, x: f(x, -1, scale=0.3),
    "scores: causal": lambda f, x: f(x, -1, causal=True),
    "scores: mask, added": lambda f, x: f(x, -1, mask=x[0, 0].sin()),
    "scores: mask of bools": lambda f, x: f(x, -1, mask=x[0] > 0),
    "scores: mask of bools, a row of none": lambda f, x: f(x, -1, mask=(x[0] > 0).triu(1)),
    "scores: all of them": lambda f, x: f(x, -1, scale=0.3, causal=True, mask=x[0, 0, :1] < 9),
    "scores: with an out": lambda f, x: f(x, -1, scale=0.3, mask=x[0] > 0, out=torch.empty_like(x)),
    "bad input: no such dimension": lambda f, x: f(x, 2),
    "bad input: whole numbers": lambda f, x: f(x.long(), -1),
    "bad input: a list": lambda f, x: f(x.tolist(), -1),
    "bad input: out of another dtype": lambda f, x: _into(x.double(), f, x),
    "bad input: out on another device": lambda f, x: _into(x.to("cpu" if x.is_cuda else "meta"), f, x),
    "bad input: out over itself": lambda f, x: _into(x[:1].clone().expand_as(x), f, x),
}  # fmt: skip
"""What else is done with noise, by kind and name."""


def _samples(dtype: torch.dtype, f: Softmax, x: Tensor) -> Tensor:
    """What torch tries its own softmax on (OpInfo), one result behind another."""
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except Exception as error:  # which wants packages that torch does not ask for
        raise Skipped(f"torch's own samples cannot be had: {error}") from error
    (softmax,) = (op for op in op_db if op.name == "softmax" and not op.variant_test_name)
    samples = [one for one in softmax.sample_inputs(x.device, dtype) if one.input.numel()]
    return torch.cat([f(one.input.detach(), *one.args, **one.kwargs).flatten() for one in samples])


def _overwriting(f: Softmax, x: Tensor) -> None:
    """Into a part of x: refused, or right."""
    wanted = f(x[:2].clone(), -1)
    with suppress(*REFUSALS):
        if not torch.allclose(f(x[:2], -1, out=x.flatten()[1:25].view(2, 12)), wanted):
            raise Wrong("It writes over numbers that it has not read yet.")


# ---- bits

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_LENGTHS = (33, 1000, 4096, 8192, 16384, 32768, 50257, 65536, 128256, 151936, 262144)
_ROWS, _FEWER = 300, (1, 2, 7, 64, 133)


def _bits(dtype: torch.dtype, backward: bool, f: Softmax, x: Tensor) -> None:
    """Raises `Wrong` where a row's bits depend on the rows beside it, its place, its alignment or the run."""
    x, v = x.to(dtype), x.flip(-1).to(dtype)

    def run(x: Tensor, v: Tensor) -> Tensor:
        if not backward:
            return f(x, -1)
        y = f(x := x.detach().requires_grad_(), -1)
        return grad(y, x, v[:, : y.shape[-1]])[0]

    def moved(one: Tensor, by: int) -> Tensor:
        return one.new_empty(one.numel() + by)[by:].view(one.shape).copy_(one)

    def differ(one: Tensor, other: Tensor) -> int:
        return int((one != other).any(-1).sum())

    whole = run(x, v)
    found = {
        f"the {_ROWS - n} rows beside it": differ(run(x[:n], v[:n]), whole[:n]) for n in _FEWER
    }
    found["its place"] = differ(run(x.flip(0), v.flip(0)).flip(0), whole)
    found["the run"] = differ(run(x, v), whole)
    for by in (1, 2, 3):
        with suppress(*REFUSALS):  # who does not take it changes no bits
            found[f"an offset of {by}"] = differ(run(moved(x, by), moved(v, by)), whole)
    if told := ", ".join(f"{why} ({rows} rows)" for why, rows in found.items() if rows):
        raise Wrong(f"A row's bits depend on {told}.")
