"""Stands in for cargo while the wheel is packed: the binary that the tests run on is taken as it is.

Building it again, with the features that one package alone has, could replace it under the other tests.
"""

import json
import os
import subprocess
import sys

real, binary = os.environ["REAL_CARGO"], os.environ["BUILT_BINARY"]
if "rustc" not in sys.argv[1:]:
    sys.exit(subprocess.run([real, *sys.argv[1:]]).returncode)
command = [real, "metadata", "--format-version", "1", "--no-deps", "--offline"]
metadata = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
package = next(package for package in metadata["packages"] if package["name"] == "cellist")
target = next(target for target in package["targets"] if target["kind"] == ["bin"])
profile = {"opt_level": "0", "debuginfo": 0, "debug_assertions": True, "overflow_checks": True, "test": False}
print(
    json.dumps(
        {
            "reason": "compiler-artifact",
            "package_id": package["id"],
            "manifest_path": package["manifest_path"],
            "target": target,
            "profile": profile,
            "features": [],
            "filenames": [binary],
            "executable": binary,
            "fresh": True,
        }
    )
)
print(json.dumps({"reason": "build-finished", "success": True}))
