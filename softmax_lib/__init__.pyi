import softmax_lib.engine.written as _written

from . import distributed as distributed
from . import gpu as gpu
from . import widgets as widgets
from .grading.collection import exercises as exercises
from .grading.grade import grade as grade
from .grading.scores import scores as scores
from .ops.adoption import LogSoftmax as LogSoftmax
from .ops.adoption import Softmax as Softmax
from .ops.adoption import patch_torch as patch_torch
from .ops.functional import log_softmax as log_softmax
from .ops.functional import softmax as softmax
from .ops.topk import softmax_topk as softmax_topk
from .ops.xray import xray_softmax as xray_softmax
from .records.shelf import recorded as recorded
from .show import drawings as drawings
from .show import figures as figures
from .show.exercise import exercise as exercise
from .show.live.block_size_explorer import explore as explore
from .show.live.measured_figures import catch_lie as catch_lie
from .show.live.measured_figures import search_unroll as search_unroll
from .suites.hardware.record import hardware as hardware
from .suites.lies.record import lie_peak as lie_peak
from .suites.lies.record import lie_times as lie_times
from .suites.measure import measure as measure
from .suites.peers.record import contests as contests
from .suites.times import cluster_times as cluster_times
from .suites.times import sharded_times as sharded_times
from .suites.times import shown_times as shown_times
from .suites.times import tile_times as tile_times
from .suites.times import topk_sizes as topk_sizes
from .suites.times import topk_times as topk_times
from .suites.times import unroll_times as unroll_times
from .suites.times import warp_times as warp_times
from .widgets.questions import predict as predict
from .worklog import errors as errors
from .worklog import selections as selections
from .worklog import tiles as tiles
from .worklog.checking import check as check
from .worklog.launch import run as run
from .worklog.launch import trace as trace
from .worklog.registry import hopper as hopper
from .worklog.registry import kernels as kernels
from .worklog.xray import xray as xray
from .worklog.xray import xray_launch as xray_launch

emulator = _written
__version__: str

def load_ipython_extension(shell: object) -> None: ...
