"""Softmax of rows that are cut into shards, one on each rank of a process group: a vocabulary over several GPUs.

Every function takes this rank's shard, (..., cols) of (..., ranks * cols), and the group, as torch.distributed has it; all
ranks call it with shards of one shape and dtype. What crosses from rank to rank is a maximum and a sum for each row, of the
largest also k numbers and their places, and never the row.
"""

from softmax_lib.distributed.functions import log_softmax as log_softmax
from softmax_lib.distributed.functions import softmax as softmax
from softmax_lib.distributed.rooms import synchronize as synchronize
from softmax_lib.distributed.tokens import argmax as argmax
from softmax_lib.distributed.tokens import cross_entropy as cross_entropy
from softmax_lib.distributed.tokens import log_probabilities as log_probabilities
from softmax_lib.distributed.tokens import topk as topk
