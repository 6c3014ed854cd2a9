from .data import (
    BodyRow as BodyRow,
    Figure as Figure,
    Ground as Ground,
    MarkerRow as MarkerRow,
    Poses as Poses,
    ReportData as ReportData,
    Residuals as Residuals,
    Span as Span,
)
from .packing import pack as pack
from .page import write_report as write_report
from .rows import (
    PLACE as PLACE,
    TURN as TURN,
    body_rows as body_rows,
    distances as distances,
    event_spans as event_spans,
    figure_row as figure_row,
    gap_spans as gap_spans,
    held_spans as held_spans,
    mark_spans as mark_spans,
    marker_rows as marker_rows,
    poses_of as poses_of,
    stride_for as stride_for,
)
