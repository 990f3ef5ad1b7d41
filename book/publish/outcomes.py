"""`make outcomes`: what graders say of the attempts that pages offer, written down anew."""

from softmax_lib.files import write_json
from softmax_lib.grading.outcomes import FILE, record

if __name__ == "__main__":
    write_json(FILE, record())
