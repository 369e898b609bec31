"""BLAS on one thread, whoever else is at it."""

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

from privity.common.synthesis.single_threaded_blas import one_blas_thread

PROGRAM = """
import threading
from threadpoolctl import threadpool_info
from privity.common.synthesis.single_threaded_blas import keep_one_blas_thread, one_blas_thread

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

keep_one_blas_thread()
entered, left = threading.Event(), threading.Event()

def longer():
    with one_blas_thread():
        entered.set()
        left.wait(30)
        print(threads())

thread = threading.Thread(target=longer)
with one_blas_thread():
    thread.start()
    entered.wait(30)
    print(threads())
left.set()
thread.join()
print(threads())
"""


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.process
def test_in_a_node_who_leaves_first_gives_the_others_no_second_thread():
    two = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=two, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["{1}", "{1}", "{1}"], done.stderr


def test_elsewhere_the_threads_are_given_back():
    before = threads()
    with one_blas_thread():
        assert threads() == {1}
    with pytest.raises(ValueError, match="a fault"), one_blas_thread():
        raise ValueError("a fault")
    assert threads() == before
