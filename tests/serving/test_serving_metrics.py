"""Metrics: what a registry of our own shows, whatever the process does with its others."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, generate_latest

from topos.serving.http.metrics import Metrics


def test_the_time_at_which_a_series_began_is_no_metric() -> None:
    metrics = Metrics()
    metrics.call_finished("created", 1, 3, 4, 0.25)
    metrics.worker_restarted("created", "")
    text = metrics.text().decode()
    assert "_created" not in text
    assert 'topos_call_seconds_sum{model="created"} 0.25' in text
    assert 'topos_call_seconds_bucket{le="+Inf",model="created"} 1.0' in text
    assert 'topos_padding_rows_total{model="created"} 1.0' in text
    assert 'topos_worker_restarts_total{model="created"} 1.0' in text


def test_metrics_of_others_in_the_process_are_left_as_they_are() -> None:
    registry = CollectorRegistry()
    Counter("others", "Of somebody else.", registry=registry).inc()
    before = generate_latest(registry)
    Metrics().text()
    assert generate_latest(registry) == before
    assert b"others_created" in before
