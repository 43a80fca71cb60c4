"""Metrics: what Prometheus is told at `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from topos.serving.counters import Observer
from topos.serving.http.exchange import Exchange
from topos.serving.status import ModelStatus

__all__ = ["Metrics", "Standing"]

# Half a millisecond to half a minute, each about twice the one before.
_SECONDS: Final = (
    *(0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5),
    *(1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
)
_ROWS: Final = tuple(float(2**power) for power in range(13))


class Standing(Collector):
    """The gauges, read as they stand when they are asked for."""

    def __init__(
        self,
        models: Callable[[], tuple[ModelStatus, ...]],
        totals: Callable[[], dict[str, tuple[str, float]]],
    ) -> None:
        """`totals` tells of the server as a whole: by name the meaning and the value."""
        self._models, self._totals = models, totals

    def collect(self) -> Iterator[Metric]:
        """Yields each gauge."""
        queue = GaugeMetricFamily(
            "topos_queue_depth", "Requests that wait for a call.", labels=["model"]
        )
        ready = GaugeMetricFamily(
            "topos_model_ready", "Whether a model serves.", labels=["model", "version"]
        )
        for model in self._models():
            queue.add_metric([model.name], model.waiting)
            ready.add_metric([model.name, model.version], float(model.ready))
        yield from (queue, ready)
        for name, (meaning, value) in self._totals().items():
            yield GaugeMetricFamily(name, meaning, value=value)


class _Present(Collector):
    """What a registry has, without the time at which each series began.

    The client's own switch for these gauges is one for the whole process.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yields each metric."""
        for metric in self._registry.collect():
            metric.samples = [each for each in metric.samples if not _is_beginning(metric, each)]
            yield metric


class Metrics(Observer):
    """Counts requests, and observes a session for what its workers do.

    A request is counted where it is answered.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.last_call: dict[str, float] = {}
        self._children: dict[tuple[str, str, int], Counter] = {}
        self._latencies: dict[str, Histogram] = {}
        self._of_calls: dict[str, tuple[Histogram, Histogram, Counter]] = {}
        self._requests = Counter(
            "topos_http_requests",
            "Requests by path template, model and status.",
            ["path", "model", "status"],
            registry=self.registry,
        )
        self._latency = self._histogram(
            "topos_request_seconds", "Seconds from the request's head to its answer.", _SECONDS
        )
        self._rows = self._histogram("topos_batch_rows", "Rows asked for in a call.", _ROWS)
        self._calls = self._histogram("topos_call_seconds", "Seconds of a call.", _SECONDS)
        self._padding = self._counter("topos_padding_rows", "Rows computed for nobody.")
        self._restarts = self._counter("topos_worker_restarts", "Workers started again.")
        self._reloads = self._counter("topos_reloads", "Reloads by outcome.", "outcome")

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, ["model", *labels], registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, meaning, ["model"], buckets=buckets, registry=self.registry)

    def record(self, exchange: Exchange, status: int, seconds: float) -> None:
        """Counts an answered request; one for a model also by how long it took."""
        key = exchange.path, exchange.model, status
        counter = self._children.get(key)
        if counter is None:
            labels = exchange.path, exchange.model, str(status)
            counter = self._children[key] = self._requests.labels(*labels)
        counter.inc()
        if exchange.rows:
            latency = self._latencies.get(exchange.model)
            if latency is None:
                latency = self._latencies[exchange.model] = self._latency.labels(exchange.model)
            latency.observe(seconds)

    def text(self) -> bytes:
        """Returns everything in Prometheus' text format."""
        return generate_latest(_Present(self.registry))

    def call_finished(
        self, model: str, requests: int, rows: int, capacity: int, seconds: float
    ) -> None:
        """Counts a call of a worker."""
        self.last_call[model] = time.time()
        known = self._of_calls.get(model)
        if known is None:
            known = self._rows.labels(model), self._calls.labels(model), self._padding.labels(model)
            self._of_calls[model] = known
        known[0].observe(rows)
        known[1].observe(seconds)
        known[2].inc(capacity - rows)

    def worker_restarted(self, model: str, reason: str) -> None:
        """Counts a worker that is started again."""
        self._restarts.labels(model).inc()

    def reload_finished(self, model: str, version: str, reason: str) -> None:
        """Counts a reload, refused where there is a reason."""
        self._reloads.labels(model, "refused" if reason else "done").inc()


def _is_beginning(metric: Metric, sample: Sample) -> bool:
    return sample.name == f"{metric.name}_created"
