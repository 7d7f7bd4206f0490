# A Kernel Gateway that ends itself when it has had no kernel for as many seconds as the first argument says.
import os
import runpy
import signal
import sys
import threading
import time

PATIENCE = float(sys.argv.pop(1))


def kernels():
    from traitlets.config import Application

    manager = getattr(Application.instance(), "kernel_manager", None) if Application.initialized() else None
    return manager.list_kernel_ids() if manager is not None else ["not there yet"]


def watch():
    since = time.monotonic()
    while time.monotonic() - since < PATIENCE:
        time.sleep(min(PATIENCE / 10, 30))
        if kernels():
            since = time.monotonic()
    os.kill(os.getpid(), signal.SIGTERM)


threading.Thread(target=watch, daemon=True).start()
runpy.run_module("kernel_gateway", run_name="__main__", alter_sys=True)
