from .body_skin import figure_for as figure_for, figure_of as figure_of
from .wear_meshes import write_dressed as write_dressed
