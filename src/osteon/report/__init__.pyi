from .data import (
    BodyRow as BodyRow,
    Ground as Ground,
    MarkerRow as MarkerRow,
    Poses as Poses,
    ReportData as ReportData,
    Residuals as Residuals,
    SkinRow as SkinRow,
    Span as Span,
)
from .page import write_report as write_report
from .rows import (
    PLACE_STEP as PLACE_STEP,
    TURN_STEP as TURN_STEP,
    body_rows as body_rows,
    distances as distances,
    event_spans as event_spans,
    gap_spans as gap_spans,
    held_spans as held_spans,
    mark_spans as mark_spans,
    marker_rows as marker_rows,
    pack as pack,
    poses_of as poses_of,
    skin_row as skin_row,
    stride_for as stride_for,
)
