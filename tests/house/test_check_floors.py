"""The floor checker finds what it is there to find, in a small tree made for it."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_floors


class CheckFloors(unittest.TestCase):
    def check(self, files):
        """(exit status, what was printed) for a tree of these files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = check_floors.main(Path(root))
            return status, out.getvalue()

    def assert_error(self, files, *words):
        status, out = self.check(files)
        self.assertEqual(status, 1, out)
        for word in words:
            self.assertIn(word, out)

    def test_decisions_by_names_of_ops_are_counted(self):
        op = 'const OpInfo neg_info{\n    .name = "neg",\n    .summary = "-x"};\n'
        asks = 'if (eqn.op->name == "neg") return find_op("neg"), "neg" != name;\n'
        few = (check_floors.OPS_BY_NAME + 2) // 3
        self.assertEqual(self.check({"tenon/ops/elementwise/unary.cpp": op, "tenon/rewrite/a.cpp": asks * (few - 1),
                                     "tenon/ops/b.cpp": asks * few, "tenon/api/c.cpp": 'throw Error("neg", "not neg");'})[0], 0)
        self.assert_error({"tenon/ops/elementwise/unary.cpp": op, "tenon/rewrite/a.cpp": asks * (few + 1)}, "by the names of ops",
                          "tenon/rewrite/a.cpp:1 (neg)")

    def test_includes_downwards_pass(self):
        status, out = self.check({
            "tenon/base/shape.h": "#pragma once\n#include <vector>\n",
            "tenon/ir/type.h": '#include "tenon/base/shape.h"\n#include "tenon/ir/value.h"\n',
            "tenon/tenon.h": '#include "tenon/api/jit.h"\n',
            "tenon/base/log.cpp": '#include "tenon/version.h"\n',
            "tenon/compile/cpu/emit.cpp": '#include "llvm/IR/IRBuilder.h"\n',
            "bench/limits/slots.cpp": "#include <llvm/IR/Module.h>\n",
            "examples/hello.cpp": "#include <tenon/tenon.h>\n"})
        self.assertEqual(status, 0, out)
        self.assertIn("7 files, 0 errors, 0 warnings", out)

    def test_include_of_a_higher_floor(self):
        self.assert_error({"tenon/ir/type.cpp": '// a\n#include "tenon/ops/linear_algebra/dot.h"\n'}, "tenon/ir/type.cpp:2", "higher floor")
        self.assert_error({"tenon/runtime/pool.h": "#include <tenon/ir/type.h>\n"}, "runtime includes tenon/ir/type.h")
        self.assert_error({"tenon/api/jit.h": '#include "tenon/tenon.h"\n'}, "higher floor")

    def test_llvm_outside_the_back_end(self):
        self.assert_error({"tenon/compile/plan/plan.cpp": "#include <llvm/IR/Module.h>\n"}, "LLVM stays inside")

    def test_llvm_through_a_header(self):
        self.assert_error({"tenon/compile/cpu/a.h": '#include "tenon/compile/cpu/b.h"\n',
                           "tenon/compile/cpu/b.h": "#include <llvm/IR/Module.h>\n",
                           "tenon/api/jit.cpp": '#include "tenon/compile/cpu/a.h"\n'}, "tenon/api/jit.cpp:1", "brings LLVM")

    def test_unknown_floor_relative_include_and_example(self):
        self.assert_error({"tenon/helpers/a.h": ""}, "no floor is called 'helpers'")
        self.assert_error({"tenon/base/a.cpp": '#include "a.h"\n', "tenon/base/a.h": ""}, "tenon/floor/file.h")
        self.assert_error({"examples/a.cpp": '#include "tenon/ir/type.h"\n'}, "users include tenon/tenon.h only")

    def test_locks_that_forks_know_nothing_of(self):
        self.assert_error({"tenon/ir/a.cpp": "// std::mutex\nstd::shared_mutex m;\n"}, "tenon/ir/a.cpp:2", "ForkMutex")
        self.assert_error({"tenon/api/a.h": "std::once_flag once;\n"}, "std::once_flag")
        status, out = self.check({"tenon/base/fork.h": "std::mutex m;\n", "tests/a.cpp": "std::mutex m;\n"})
        self.assertEqual(status, 0, out)

    def test_types_of_one_name(self):
        one = "namespace tenon {\nnamespace inner {\nstruct Row;\n}  // namespace inner\nstruct Row {\n  int x;\n};\n}  // namespace tenon\n"
        other = "namespace tenon {\nenum class Row : int { first };\n}  // namespace tenon\n"
        self.assert_error({"tenon/ir/a.h": one, "tenon/api/b.h": other}, "tenon::Row is defined twice: ", "tenon/ir/a.h:5", "tenon/api/b.h:2")
        apart = one.replace("inner {\nstruct Row;", "inner {\nstruct Row {};")
        special = "namespace tenon {\ntemplate <>\nstruct Row<int> {};\n}  // namespace tenon\n"
        status, out = self.check({"tenon/ir/a.h": apart, "tenon/api/b.h": special, "tenon/api/c.cpp": other})
        self.assertEqual(status, 0, out)

    def test_circles_of_imports(self):
        package = {"python/tenon/__init__.py": "from tenon import _core, _sizes\nfrom tenon.numpy import *\n",
                   "python/tenon/_core/__init__.pyi": "def size(n): ...\n",
                   "python/tenon/_sizes.py": "from tenon import _core\n",
                   "python/tenon/numpy/__init__.py": "from tenon.numpy import _shapes\n",
                   "python/tenon/numpy/_shapes.py": "from tenon import _core, _sizes\nfrom tenon._core import size\n"}
        status, out = self.check(package)
        self.assertEqual(status, 0, out)
        with_import = {"a function's, of a lower module": ("_arrays", "def f():\n    from tenon import numpy\n"),
                       "one for types": ("_sizes", "if TYPE_CHECKING:\n    from tenon import numpy\n")}
        for which, (module, text) in with_import.items():
            with self.subTest(which):
                self.assertEqual(self.check({**package, f"python/tenon/{module}.py": text})[0], 0)
        circle = {"the module itself": "from tenon import _core\nimport tenon.numpy._shapes\n",
                  "its package": "import math\nfrom tenon.numpy._shapes import shape\n",
                  "inside of a function": "def f():\n    from tenon.numpy import _shapes\n",
                  "inside of a method": "class C:\n    async def f(self): from tenon.numpy import _shapes\n",
                  "inside of a statement": "try:\n    from .numpy import _shapes\nexcept ImportError:\n    pass\n"}
        for which, text in circle.items():
            with self.subTest(which):
                self.assert_error({**package, "python/tenon/_sizes.py": text}, "a circle of imports: ",
                                  "tenon._sizes imports tenon.numpy", "(python/tenon/_sizes.py:2)",
                                  "tenon.numpy._shapes imports tenon._sizes (python/tenon/numpy/_shapes.py:1)")
        self.assert_error({**package, "python/tenon/_sizes.py": "from tenon import Array\n"}, "tenon._sizes imports tenon (",
                          "tenon imports tenon._sizes")
        # Each module by itself is in none: the folders are.
        folders = {"python/tenon/lax/__init__.py": "", "python/tenon/lax/_loops.py": "from tenon import numpy\n",
                   "python/tenon/numpy/_ufuncs.py": "def f():\n    from tenon import lax\n"}
        self.assert_error({**package, **folders}, "tenon.numpy holds tenon.numpy._ufuncs", "tenon.numpy._ufuncs imports tenon.lax (",
                          "tenon.lax holds tenon.lax._loops", "tenon.lax._loops imports tenon.numpy (")

    def test_sizes_warn(self):
        body = "  f();\n" * 90
        text = f'namespace tenon {{\nstruct S {{\n  int x;\n}};\nvoid g(int x) {{\n{body}}}\nint small() {{ return 1; }}\n}}\n'
        status, out = self.check({"tenon/base/a.cpp": text, "tenon/base/b.cpp": "// line\n" * 601})
        self.assertEqual(status, 0, out)
        self.assertIn("tenon/base/a.cpp:5: a function of 92 lines", out)
        self.assertIn("tenon/base/b.cpp: 601 lines", out)
        self.assertIn("2 warnings", out)


if __name__ == "__main__":
    unittest.main()
