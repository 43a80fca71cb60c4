"""Metrics: what Prometheus is told at `/metrics`.

Requests are counted in plain numbers, which the client's families are made of when it asks: to
count in the client's own counters takes several times as long.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from topos.serving.counters import Counters, Observer
from topos.serving.http.exchange import Exchange
from topos.serving.status import ModelStatus

# Half a millisecond to half a minute, each about twice the one before.
_SECONDS: Final = (
    *(0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5),
    *(1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
)
_ROWS: Final = tuple(float(2**power) for power in range(13))


class _Histogram:
    """Values of each model counted in buckets, the last without a bound, and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)

    def observe(self, model: str, value: float) -> None:
        counts = self._counts.get(model)
        if counts is None:
            counts = self._counts[model] = [0] * (len(self._bounds) + 1)
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[model] += value

    def family(self, name: str, meaning: str) -> Metric:
        family = HistogramMetricFamily(name, meaning, labels=["model"])
        bounds = [*map(repr, self._bounds), "+Inf"]
        for model, counts in self._counts.items():
            buckets = list(zip(bounds, map(float, accumulate(counts)), strict=True))
            family.add_metric([model], buckets, self._sums[model])
        return family


class _Families(Collector):
    """Families that are made already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """Returns each family."""
        return self._families


class Metrics(Observer):
    """Counts requests where they are answered, and observes the calls of a session's workers."""

    def __init__(self) -> None:
        self.last_call: dict[str, float] = {}
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._latency, self._calls = _Histogram(_SECONDS), _Histogram(_SECONDS)
        self._rows = _Histogram(_ROWS)

    def record(self, exchange: Exchange, status: int, seconds: float) -> None:
        """Counts an answered request; one for a model also by how long it took."""
        self._requests[exchange.path, exchange.model, status] += 1
        if exchange.rows:
            self._latency.observe(exchange.model, seconds)

    def call_finished(
        self, model: str, requests: int, rows: int, capacity: int, seconds: float
    ) -> None:
        """Counts a call of a worker."""
        self.last_call[model] = time.time()
        self._rows.observe(model, rows)
        self._calls.observe(model, seconds)

    def text(
        self,
        models: Iterable[tuple[ModelStatus, Counters]],
        totals: Mapping[str, tuple[str, float]],
    ) -> bytes:
        """Returns everything in Prometheus' text format, with what a session's models tell.

        `totals` are gauges of the server as a whole: by name the meaning and the value.
        """
        families = [*self._counted(), *_of_models(models)]
        for name, (meaning, value) in totals.items():
            families.append(GaugeMetricFamily(name, meaning, value=value))
        return generate_latest(_Families(families))

    def _counted(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "topos_http_requests",
            "Requests by path template, model and status.",
            labels=["path", "model", "status"],
        )
        for (path, model, status), count in self._requests.items():
            requests.add_metric([path, model, str(status)], count)
        yield requests
        meaning = "Seconds from the request's head to its answer."
        yield self._latency.family("topos_request_seconds", meaning)
        yield self._rows.family("topos_batch_rows", "Rows asked for in a call.")
        yield self._calls.family("topos_call_seconds", "Seconds of a call.")


def _of_models(models: Iterable[tuple[ModelStatus, Counters]]) -> list[Metric]:
    label = ["model"]
    queue = GaugeMetricFamily("topos_queue_depth", "Requests that wait for a call.", labels=label)
    ready = GaugeMetricFamily(
        "topos_model_ready", "Whether a model serves.", labels=["model", "version"]
    )
    padding = CounterMetricFamily("topos_padding_rows", "Rows computed for nobody.", labels=label)
    restarts = CounterMetricFamily("topos_worker_restarts", "Workers started again.", labels=label)
    reloads = CounterMetricFamily(
        "topos_reloads", "Reloads by outcome.", labels=["model", "outcome"]
    )
    for model, counters in models:
        queue.add_metric([model.name], model.waiting)
        ready.add_metric([model.name, model.version], float(model.ready))
        padding.add_metric([model.name], counters.padding)
        restarts.add_metric([model.name], counters.restarts)
        reloads.add_metric([model.name, "done"], counters.reloads)
        reloads.add_metric([model.name, "refused"], counters.refused_reloads)
    return [queue, ready, padding, restarts, reloads]
