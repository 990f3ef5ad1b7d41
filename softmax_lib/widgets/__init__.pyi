from .explorers import Explorer as Explorer
from .explorers import explorer as explorer
from .explorers import stepper as stepper
from .questions import predict as predict
from .tables import table as table
from .views import View as View
from .views import plain as plain
