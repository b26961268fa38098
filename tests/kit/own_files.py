"""Files that a page has its reader write, and the command line on them."""

import subprocess
import sys

__all__ = ["OwnFiles"]


class OwnFiles:
    """A folder with files by name; ``page`` is the catalogue page among them."""

    def __init__(self, folder, page, files):
        self.folder, self.page = folder, page
        for name, text in files.items():
            (folder / name).write_text(text)

    def run(self, *arguments):
        """The completed process of ``cyclebound``, in this folder."""
        return subprocess.run(
            [sys.executable, "-m", "cyclebound.sim", "--catalogue", self.page, *arguments],
            cwd=self.folder, capture_output=True, text=True)

    def run_with(self, name, right, wrong, *arguments):
        """The same with a fault in the file ``name``, which is mended afterwards."""
        source = (self.folder / name).read_text()
        assert source.count(right) == 1
        (self.folder / name).write_text(source.replace(right, wrong))
        try:
            return self.run(*arguments)
        finally:
            (self.folder / name).write_text(source)
