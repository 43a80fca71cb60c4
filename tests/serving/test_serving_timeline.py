"""The grid of recent latencies: what it counts, how near its percentiles are, what it forgets."""

from __future__ import annotations

import numpy as np
import pytest

from topos.serving.http.timeline import BINS, SLOT_SECONDS, SLOTS, Timeline


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_percentiles_are_within_a_bin_of_the_latencies(clock: Clock) -> None:
    timeline = Timeline(clock)
    latencies = np.random.default_rng(5).gamma(2.0, 0.004, 5000)
    for latency in latencies:
        timeline.request_finished("m", "ok", 1, float(latency))
    found = timeline.record()["all"]["percentiles"]
    wanted = np.percentile(latencies, (50, 95, 99), method="inverted_cdf")
    for ours, theirs in zip(found, wanted, strict=True):
        assert 1 / 1.13 < ours / theirs < 1.13


def test_the_percentiles_of_one_request_are_equal(clock: Clock) -> None:
    timeline = Timeline(clock)
    timeline.request_finished("m", "ok", 1, 0.0123)
    found = timeline.record()["all"]
    assert len({*found["percentiles"]}) == 1
    assert 1 / 1.13 < found["percentiles"][0] / 0.0123 < 1.13
    assert len({*found["slots"][-1][2:]}) == 1
    # Of two in one bin the median is the lower.
    timeline.request_finished("m", "ok", 1, 0.0123)
    half, *others = timeline.record()["all"]["percentiles"]
    assert half < others[0] == others[1]


def test_requests_are_counted_in_the_slot_of_their_time(clock: Clock) -> None:
    timeline = Timeline(clock)
    timeline.request_finished("a", "ok", 1, 0.01)
    clock.now += 2 * SLOT_SECONDS
    timeline.request_finished("a", "ok", 4, 0.02)
    timeline.request_finished("b", "BusyError", 1, 0.0)
    timeline.request_finished("b", "cancelled", 1, 0.5)
    record = timeline.record()
    slots = [slot[:2] for slot in record["all"]["slots"]]
    assert slots == [[0, 0]] * (SLOTS - 3) + [[1, 0], [0, 0], [1, 1]]
    assert [slot[:2] for slot in record["models"]["b"]["slots"][-1:]] == [[0, 1]]
    assert record["models"]["b"]["percentiles"] == [None, None, None]
    assert sum(record["all"]["histogram"]) == 2


def test_what_is_older_than_the_grid_is_forgotten(clock: Clock) -> None:
    timeline = Timeline(clock)
    timeline.request_finished("m", "ok", 1, 0.01)
    clock.now += (SLOTS - 1) * SLOT_SECONDS
    assert timeline.record()["all"]["slots"][0][0] == 1
    clock.now += SLOT_SECONDS
    assert sum(timeline.record()["all"]["histogram"]) == 0
    # The same place of the ring is taken again.
    timeline.request_finished("m", "ok", 1, 0.02)
    assert sum(timeline.record()["all"]["histogram"]) == 1


@pytest.mark.parametrize(("seconds", "place"), [(0.0, 0), (1e-7, 0), (1e4, BINS - 1)])
def test_latencies_beyond_the_edges_count_in_the_outer_bins(
    clock: Clock, seconds: float, place: int
) -> None:
    timeline = Timeline(clock)
    timeline.request_finished("m", "ok", 1, seconds)
    assert timeline.record()["all"]["histogram"][place] == 1
