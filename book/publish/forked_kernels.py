"""Kernels that start in a tenth of a second: each is a fork of one process that has imported what all notebooks import."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.process import BaseProcess
from typing import Any
from unittest.mock import patch

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

IMPORTED = ["ipykernel.kernelapp", "ipywidgets", "matplotlib.pyplot", "torch"]
"""What takes long, and holds nothing of a notebook."""


class ForkedProcess:
    """A process as its provisioner wants it, which knows those of `subprocess`."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid = process.pid
        self.kill, self.terminate = process.kill, process.terminate

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self._process.pid or 0, number)


class ForkingProvisioner(LocalProvisioner):
    """Starts kernels by forks."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Start one with the arguments that a command has for it, in an environment and a folder."""
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload(IMPORTED)
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        process = forks.Process(target=run_kernel, args=(arguments, kwargs["env"], kwargs["cwd"]))
        # how texts are hashed is settled where the process starts that is forked
        with patch.dict(os.environ, PYTHONHASHSEED=kwargs["env"]["PYTHONHASHSEED"]):
            process.start()
        self.process = ForkedProcess(process)
        self.pid, self.cwd = process.pid, kwargs["cwd"]
        return self.connection_info


class ForkingManager(AsyncKernelManager):
    """Manages a kernel that is a fork."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.provisioner = ForkingProvisioner(kernel_spec=self.kernel_spec, parent=self)


def run_kernel(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Be a kernel, in a process of one's own."""
    from ipykernel.kernelapp import launch_new_instance

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    # it ends when the process does that it was forked from
    launch_new_instance([*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"])
