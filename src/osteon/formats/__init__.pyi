from .asf_amc import (
    AMC as AMC,
    find_asf as find_asf,
)
from .bvh_writer import bvh_conventions as bvh_conventions
from .c3d.measures import leg_measures as leg_measures
from .catalogue import (
    FORMATS as FORMATS,
    SKINNED as SKINNED,
    character_ending as character_ending,
    check_endings as check_endings,
    describe as describe,
    held_by as held_by,
    motion_endings as motion_endings,
    read as read,
    write as write,
    write_character as write_character,
    write_skinned as write_skinned,
    written_with as written_with,
)
from .glb.read import (
    Skinned as Skinned,
    read_glb_mesh as read_glb_mesh,
)
from .keypoint_files.points_of_people import UNNAMED as UNNAMED
from .obj import (
    Triangles as Triangles,
    read_obj as read_obj,
)
from .osim import write_storage as write_storage
from .own.compact_tables import (
    write_compact_csv as write_compact_csv,
    write_compact_parquet as write_compact_parquet,
)
from .own.field_json import (
    read_field as read_field,
    write_field as write_field,
)
from .own.skeleton_json import (
    read_passport as read_passport,
    write_passport as write_passport,
)
from .plain_csv import read_measured as read_measured
from .registry import (
    FOLDER_INDEX as FOLDER_INDEX,
    VERBS_FILES as VERBS_FILES,
    Format as Format,
    WriteOptions as WriteOptions,
    as_held as as_held,
    file_in as file_in,
    find_format as find_format,
    format_for_writing as format_for_writing,
    keep_only as keep_only,
    left_out as left_out,
)
from .shared.json_and_xml import write_readable as write_readable
from .shared.units import (
    LOOKS as LOOKS,
    METRES as METRES,
    TO_Z_UP as TO_Z_UP,
    metres_per as metres_per,
    stance_of as stance_of,
    to_z_up as to_z_up,
    turn_points as turn_points,
    turn_rotations as turn_rotations,
)
from .shared.whole_files import (
    content_hash as content_hash,
    file_name as file_name,
    remove_unfinished as remove_unfinished,
    try_lock as try_lock,
    unfinished_folder as unfinished_folder,
    whole_file as whole_file,
)
