"""Calls of ``torch.linalg``: decompositions are seen through what their signs do not change."""

from __future__ import annotations

from typing import Any

SQ = ((3, 3), -1.0, 1.0)
STACK = ((2, 3, 3), -1.0, 1.0)
TALL, WIDE = ((4, 3), -1.0, 1.0), ((3, 4), -1.0, 1.0)
APART = "torch.diag(torch.tensor([1.0, 2.5, 4.2]))"
OWN = f"(x*0.4 + {APART})"  # eigenvalues well apart
COMPLEX = f"(torch.complex(x, y)*0.4 + {APART})"


def _eigh(text: str, matrix: str) -> str:
    return f"(lambda r: {text})(torch.linalg.eigh({matrix}))"


def calls(call: Any) -> tuple:
    """The calls, each made by ``call``."""

    def on(text: str, *shapes: tuple, **more: Any) -> list:
        return [call(text, x=shape, **more) for shape in shapes]

    both = (SQ, STACK)
    herm = "(torch.complex(x, y) + torch.complex(x, y).mH)*0.2 + " + APART
    pick = "torch.arange(1.0, 4.0)"
    return (
        *on(f"torch.linalg.eigvalsh({OWN} + {OWN}.mT)", *both),
        *on(_eigh("(r.eigenvectors**2*r.eigenvalues[..., None, :]).sum(-1)",
            f"{OWN} + {OWN}.mT"), *both),
        *on(_eigh(f"(r[1]*{pick}) @ r[1].mT", f"{OWN} + {OWN}.mT"), *both),
        call(_eigh(f"((r[1]*{pick}) @ r[1].mH).abs()", herm), x=SQ, y=SQ),
        call(f"torch.linalg.eigvalsh({herm})", x=SQ, y=SQ),
        *on(f"torch.linalg.eigvals({OWN}).abs().sum(-1)", *both),
        *on(f"torch.linalg.eigvals({OWN}).real.prod(-1)", SQ),
        *on(f"torch.linalg.eig({OWN})[1].abs()**2 @ {pick}", SQ),
        *on("(lambda r: ((r[1]*r[0]**0.5) @ torch.linalg.inv(r[1])).real)"
            f"(torch.linalg.eig({OWN}))", SQ),
        call(f"torch.linalg.eig({COMPLEX}).eigenvectors.abs() @ {pick}", x=SQ, y=SQ),
        call(f"torch.linalg.eigvals({COMPLEX}).abs().sort()[0]", x=SQ, y=SQ),
        *on("torch.linalg.svdvals(x)", SQ, STACK, TALL, WIDE),
        *on(f"(lambda r: (r.U[..., :3]*{pick}) @ r.Vh[..., :3, :])(torch.linalg.svd(x))",
            SQ, STACK),
        *on(f"(lambda r: (r.U*{pick}) @ r.Vh + r.S[..., None])"
            "(torch.linalg.svd(x, full_matrices=False))", SQ, STACK),
        *on("(lambda r: r[0]**2 @ r[1])(torch.linalg.svd(x, False))", TALL, WIDE),
        *on("(lambda r: r[1] @ r[2]**2)(torch.linalg.svd(x, False))", TALL, WIDE),
        *on("(lambda r: r[2].mT**2 @ r[1])(torch.linalg.svd(x, False))", TALL, WIDE),
        *on("(lambda r: r[0]**2 @ r[1])(torch.svd(x))", TALL),
        call("(lambda r: (r[0] @ r[2]).abs())(torch.linalg.svd(torch.complex(x, y), False))",
            x=TALL, y=TALL),
        *on("torch.linalg.qr(x).Q", SQ, STACK, TALL, WIDE),
        *on("torch.linalg.qr(x).R", SQ, STACK, TALL, WIDE),
        call("torch.linalg.qr(torch.complex(x, y))[1][:, 2].abs()", x=TALL, y=TALL),
        *on("torch.linalg.lu(x).L", SQ, STACK, TALL, WIDE),
        *on("torch.linalg.lu(x).U", SQ, STACK, TALL, WIDE),
        *on("torch.linalg.lu_factor(x)[0]", SQ, TALL, WIDE),
        call("torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y)", x=SQ, y=(3, 2)),
        call(f"torch.linalg.lu_solve(*torch.linalg.lu_factor({OWN}), y, adjoint=True)", x=SQ,
            y=(3, 2)),
        call("torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y, left=False)", x=SQ, y=(2, 3)),
        *on("torch.linalg.pinv(x)", SQ, TALL, WIDE, STACK),
        *on(f"torch.linalg.pinv({OWN} + {OWN}.mT, hermitian=True)", SQ),
        *on("torch.linalg.matrix_exp(x)", SQ, STACK), *on("torch.matrix_exp(3*x)", SQ),
        call("torch.linalg.lstsq(x, y).solution", x=TALL, y=(4, 2)),
        call("torch.linalg.lstsq(x, y)[0]", x=WIDE, y=(3, 2)),
        call("torch.linalg.solve_triangular(x + 2*torch.eye(3), y, upper=True)", x=SQ, y=(3, 2)),
        call("torch.linalg.solve_triangular(x, y, upper=False, unitriangular=True)", x=STACK,
            y=(2, 3, 2)),
        call("torch.linalg.solve_triangular(x + 2*torch.eye(3), y, upper=False, left=False)",
            x=SQ, y=(2, 3)),
        call(f"torch.linalg.solve({OWN}, y, left=False)", x=SQ, y=(2, 3)),
        *on(f"torch.linalg.cholesky(x @ x.mT + {APART}, upper=True)", SQ, STACK),
        *on(f"torch.linalg.cholesky_ex(x @ x.mT + {APART}).L", SQ),
        call(f"torch.cholesky_solve(y, torch.linalg.cholesky(x @ x.mT + {APART}))", x=SQ, y=(3, 2)),
        *on(f"torch.cholesky_inverse(torch.linalg.cholesky(x @ x.mT + {APART}))", SQ),
        *on(f"torch.linalg.slogdet({OWN}).logabsdet", *both),
        *on(f"torch.linalg.inv_ex({OWN}).inverse", SQ),
        *(c for p in ("'fro'", "'nuc'", "1", "-1", "2", "-2", "float('inf')", "-float('inf')")
          for c in on(f"torch.linalg.matrix_norm(x, {p})", TALL, STACK)),
        *on("torch.linalg.matrix_norm(x, 2, dim=(0, 1), keepdim=True)", STACK),
        *on("torch.linalg.norm(x, 'nuc') + torch.linalg.norm(x, 1)", SQ),
        *(c for p in ("None", "-2", "'nuc'")
          for c in on(f"torch.linalg.cond({OWN}, {p})", SQ)),
        call("torch.linalg.multi_dot([x, y, z])", x=(2, 3), y=(3, 4), z=(4, 2)),
        call("torch.linalg.multi_dot([x, y, z])", x=(3,), y=(3, 4), z=(4,)),
        call("torch.linalg.vecdot(x, y)", x=(2, 3), y=(3,)),
        call("torch.linalg.tensorsolve(x.reshape(2, 3, 6), y)", x=(6, 6), y=(2, 3)),
        call("torch.linalg.tensorinv(x.reshape(2, 3, 6), ind=2)", x=(6, 6)),
        call("torch.linalg.vander(x)", x=(3,)),
        call("torch.linalg.householder_product(x, y)", x=TALL, y=(3,)),
    )  # fmt: skip
