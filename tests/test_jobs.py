"""The queue of long jobs, with work that waits for a signal and a clock that is turned by hand."""

from __future__ import annotations

import threading
import time

import pytest

from andrea.errors import InputError
from andrea.jobs import KEPT, Jobs


class Bench:
    """Work that goes on until it is released; notes what ran, how often, how many at a time."""

    def __init__(self):
        self.now, self.started, self.stopped = 0.0, [], []
        self.gates: dict[str, threading.Event] = {}
        self.lock, self.side_by_side, self.most = threading.Lock(), 0, 0

    def gate(self, request):
        with self.lock:
            return self.gates.setdefault(request, threading.Event())

    def work(self, request, check, report):
        with self.lock:
            self.started.append(request)
            self.side_by_side += 1
            self.most = max(self.most, self.side_by_side)
        try:
            report(f"{request} begun")
            while not self.gate(request).wait(0.005):
                check()
            if request.startswith("bad"):
                raise InputError("{what} is bad", what=request)
            if request.startswith("bug"):
                raise RuntimeError("a bug")
            return request.upper()
        except BaseException:
            self.stopped.append(request)
            raise
        finally:
            with self.lock:
                self.side_by_side -= 1


def until(true):
    given_up = time.monotonic() + 60  # far more than it takes, for a busy machine
    while not true():
        assert time.monotonic() < given_up, "it never came true"
        time.sleep(0.005)


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def jobs(bench):
    made = Jobs(bench.work, patience=10.0, clock=lambda: bench.now)
    yield made
    for request in bench.started:
        bench.gate(request).set()


def test_a_hundred_who_want_the_same_share_one_job(bench, jobs):
    threads = [threading.Thread(target=jobs.ask, args=(f"s{i}", "a")) for i in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: jobs.look("s0", "a").progress == "a begun")
    assert jobs.look("s0", "a").watchers == 100
    bench.gate("a").set()
    until(lambda: jobs.look("s7", "a").state == "done")
    assert bench.started == ["a"] and jobs.look("s99", "a").value == "A"
    jobs.ask("late", "a")  # done already: nothing is run again
    assert jobs.look("late", "a").value == "A" and bench.started == ["a"]


def test_different_wishes_are_worked_off_in_their_order_one_at_a_time(bench, jobs):
    for owner, request in (("x", "a"), ("y", "b"), ("z", "c")):
        jobs.ask(owner, request)
    until(lambda: jobs.look("x", "a").state == "running")
    assert [jobs.look(o, r).ahead for o, r in (("x", "a"), ("y", "b"), ("z", "c"))] == [0, 1, 2]
    bench.gate("a").set()
    until(lambda: jobs.look("y", "b").state == "running")
    assert jobs.look("z", "c").ahead == 1
    bench.gate("b").set()
    bench.gate("c").set()
    until(lambda: jobs.look("z", "c").state == "done")
    assert bench.started == ["a", "b", "c"] and bench.most == 1


def test_nobody_holds_more_than_one_place(bench, jobs):
    jobs.ask("x", "a")
    until(lambda: bench.started == ["a"])
    jobs.ask("greedy", "b")
    jobs.ask("y", "c")
    jobs.ask("greedy", "d")  # gives up b, goes to the end
    assert jobs.look("greedy", "b").state == "stopped"
    assert jobs.look("y", "c").ahead == 1 and jobs.look("greedy", "d").ahead == 2
    for request in "acd":
        bench.gate(request).set()
    until(lambda: jobs.look("greedy", "d").state == "done")
    assert bench.started == ["a", "c", "d"]


def test_a_job_ends_when_the_last_one_leaves_and_its_progress_stays(bench, jobs):
    jobs.ask("x", "a")
    jobs.ask("y", "a")
    until(lambda: jobs.look("x", "a").progress == "a begun")
    jobs.leave("x")
    time.sleep(0.03)
    assert jobs.look("y", "a").state == "running" and jobs.look("y", "a").watchers == 1
    jobs.leave("y")
    until(lambda: bench.stopped == ["a"])
    status = jobs.look("y", "a")
    assert (status.state, status.progress) == ("stopped", "a begun")
    jobs.ask("x", "a")  # once more, from the start
    until(lambda: bench.started == ["a", "a"])


def test_who_falls_silent_counts_as_gone(bench, jobs):
    jobs.ask("silent", "a")
    jobs.ask("awake", "b")
    until(lambda: bench.started == ["a"])
    bench.now = 8.0
    assert jobs.look("awake", "b").state == "waiting"
    bench.now = 12.0  # silent for 12 seconds, awake for 4
    until(lambda: jobs.look("awake", "b").state == "running")
    assert bench.stopped == ["a"] and jobs.look("silent", "a").state == "stopped"


def test_refusals_and_bugs_are_told_and_the_queue_goes_on(bench, jobs, caplog):
    for i, request in enumerate(("bad", "bug", "c")):
        jobs.ask(f"s{i}", request)
        bench.gate(request).set()
    until(lambda: jobs.look("s2", "c").state == "done")
    refused, broken = jobs.look("s0", "bad"), jobs.look("s1", "bug")
    assert (refused.state, str(refused.error)) == ("failed", "bad is bad")
    assert (broken.state, broken.error) == ("failed", None) and "a bug" in caplog.text
    jobs.ask("s0", "bad")  # a failure is not kept for ever
    until(lambda: bench.started.count("bad") == 2)


def test_only_so_many_finished_jobs_are_kept(bench, jobs):
    for i in range(KEPT + 5):
        bench.gate(str(i)).set()
        jobs.ask("x", str(i))
        until(lambda i=i: jobs.look("x", str(i)).state == "done")
    assert jobs.look("x", "0").state == "stopped" and jobs.look("x", str(KEPT)).state == "done"


def test_several_workers_run_side_by_side(bench):
    two = Jobs(bench.work, workers=2, clock=lambda: bench.now)
    for owner, request in (("x", "a"), ("y", "b"), ("z", "c")):
        two.ask(owner, request)
    until(lambda: bench.most == 2)
    assert two.look("z", "c").state == "waiting"
    for request in "abc":
        bench.gate(request).set()
    until(lambda: two.look("z", "c").state == "done")
