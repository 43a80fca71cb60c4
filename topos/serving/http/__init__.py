"""The HTTP side of serving: the Open Inference Protocol on uvicorn."""

from topos.serving.http.application import Application, Observers
from topos.serving.http.limits import Limits
from topos.serving.http.server import Serving, serve
from topos.serving.http.token import Token

__all__ = ["Application", "Limits", "Observers", "Serving", "Token", "serve"]
