"""`make outcomes`: what graders say of the answers that pages offer, and what mistakes are known by, written anew.

`python book/publish/outcomes.py [EXERCISE ...]` does so for those given, or for all.
"""

import sys

from softmax_lib.grading.grade import judge
from softmax_lib.grading.mistakes import FILE, record
from softmax_lib.worklog.files import write_json

if __name__ == "__main__":
    write_json(FILE, record(judge, sys.argv[1:]))
