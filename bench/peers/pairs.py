"""P8: a Gaussian kernel's product and its gradients by KeOps, which stores no pairs either. Its gradients in x, y and b are
three reductions, as its own autograd takes them. The first call compiles them (KeOps keeps the code on disk) and is not timed."""
import numpy as np
from common import report, have

if have("pykeops"):
    from pykeops.numpy import Genred
    for case, N, D, dtype in (("P8 gaussian N=M=10000", 10000, 3, "float32"), ("P8 gaussian f64 N=M=10000", 10000, 3, "float64"),
                              ("gaussian D=10 N=M=5000", 5000, 10, "float32"), ("gaussian D=64 N=M=5000", 5000, 64, "float32")):
        r, scale = np.random.default_rng(0), 1 if D == 3 else 2 / np.sqrt(D)
        x, y, b = ((k * r.random((N, n))).astype(dtype) for k, n in ((scale, D), (scale, D), (1, 1)))
        one = np.ones((N, 1), dtype)
        names = [f"x=Vi({D})", f"y=Vj({D})", "b=Vj(1)"]
        product = Genred("Exp(-SqDist(x,y))*b", names, reduction_op="Sum", axis=1)
        gradient = {v: Genred(f"Grad(Exp(-SqDist(x,y))*b,{v},e)", [*names, "e=Vi(1)"], reduction_op="Sum", axis=1 if v == "x" else 0)
                    for v in "xyb"}
        report(case, "KeOps", "fwd", lambda: product(x, y, b), budget=6.0, repeats=5)
        report(case, "KeOps", "grad x", lambda: gradient["x"](x, y, b, one), budget=6.0, repeats=5)
        report(case, "KeOps", "grad x, y and b", lambda: [g(x, y, b, one) for g in gradient.values()], budget=6.0, repeats=5)
