from .compiler import set_compiler as set_compiler
from .errors import EngineError as EngineError
from .source import Source as Source
from .spec import LaunchSpec as LaunchSpec
from .written.running import launch as launch
from .written.tracing import trace as trace
from .xrays.counting import xray as xray
from .xrays.hazards import Hazard as Hazard
