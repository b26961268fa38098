"""Requests of a tile with a core: the proof finds planted faults."""

import pytest

from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("absent.eq(~system & ~inside)", "absent.eq(0)", "a request to no tile"),
    ("free.eq(self.run & ~self.exited)", "free.eq(1)",
     "a request before the program's start, or after its end"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("shmac.tile", "requests", (old, new))
