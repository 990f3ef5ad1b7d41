from . import drawings as drawings
from . import emulator as emulator
from . import errors as errors
from . import figures as figures
from . import gpu as gpu
from . import selections as selections
from . import tiles as tiles
from . import widgets as widgets
from .checking import check as check
from .launch import run as run
from .launch import trace as trace
from .live.block_size_explorer import explore as explore
from .live.unroll_search import search_unroll as search_unroll
from .measurements import measure as measure
from .ops.adoption import patch_torch as patch_torch
from .ops.functional import log_softmax as log_softmax
from .ops.functional import softmax as softmax
from .ops.modules import LogSoftmax as LogSoftmax
from .ops.modules import Softmax as Softmax
from .ops.topk import softmax_topk as softmax_topk
from .records.shelf import recorded as recorded
from .records.tile_times import tile_times as tile_times
from .records.topks import topk_sizes as topk_sizes
from .records.topks import topk_times as topk_times
from .records.unrolls import unroll_times as unroll_times
from .records.warp_times import warp_times as warp_times
from .registry import kernels as kernels
from .widgets.questions import predict as predict
from .xrays.fast import xray_softmax as xray_softmax
from .xrays.xray import xray as xray
from .xrays.xray import xray_launch as xray_launch

__version__: str

def load_ipython_extension(shell: object) -> None: ...
