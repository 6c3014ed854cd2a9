from .body_skin import make_skin as make_skin, make_skin_for as make_skin_for
from .wear_meshes import write_dressed as write_dressed
