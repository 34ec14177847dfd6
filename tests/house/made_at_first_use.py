"""libtenon has no static that is made when it is first reached: the child of a fork could wait for its maker for ever."""

import os
import re
import subprocess
import sys

library = sys.argv[1]
# Where debug information is in a file of its own, local symbols are there.
if os.path.exists(library + ".debug"):
    library += ".debug"
symbols = subprocess.run(["readelf", "-sW", "--demangle", library], check=True, capture_output=True, text=True).stdout
assert "(anonymous namespace)" in symbols, f"{library} has no symbols"
# Those of a single thread are its own.
found = re.findall(r"\bOBJECT\b.* guard variable for (.*)", symbols)
assert not found, "use Lasting (tenon/base/fork.h) for " + "; ".join(found)
