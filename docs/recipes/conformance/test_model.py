"""What the workflow demands of the model."""

from model import plan

from topos.bundle.pytest_plugin import StablehloConforms


def test_the_model_conforms_on_xla(stablehlo_conforms: StablehloConforms) -> None:
    """Holds the model against the oracle; without jax the test is skipped."""
    stablehlo_conforms(plan(), runtimes=["xla"])
