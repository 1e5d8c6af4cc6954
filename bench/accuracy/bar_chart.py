"""Draws grouped bars with ranges as SVG."""

from xml.sax.saxutils import escape

COLOURS = ["#d95f02", "#1b6fb3", "#7fb3d9", "#2e8b57", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"]
MAX_LEGEND_WIDTH, LEGEND_ROW = 900, 16
LABEL_WIDTH, CHART_WIDTH, VALUE_WIDTH, BAR, GAP, TOP = 150, 460, 90, 11, 9, 44


def _ticks(limit):
    step = next(s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
                if limit / s <= 10 or s == 10)
    return [i * step for i in range(int(limit / step + 1e-9) + 1)]


def _legend(series):
    """Returns [(x, row)] of the names, and the width of the longest row."""
    positions, x, row = [], 0, 0
    for name in series:
        width = 30 + 7 * len(name)
        if x and x + width > MAX_LEGEND_WIDTH:
            x, row = 0, row + 1
        positions.append((x, row))
        x += width
    return positions, max((x + 30 + 7 * len(name) for (x, _), name in zip(positions, series)), default=0)


def bars(title, series, groups, limit=None):
    """`groups` is [(label, [(low, middle, high) or None for each of `series`])], shares of 1.

    Bars above `limit` are cut, with their value next to them.
    """
    if len(series) > len(COLOURS):
        raise ValueError(f"{len(series)} series, and {len(COLOURS)} colours")
    highest = max((value[2] for _, values in groups for value in values if value), default=0)
    limit = min(limit or highest, highest) or 1
    scale = CHART_WIDTH / limit
    positions, legend_width = _legend(series)
    top = TOP + LEGEND_ROW * max((row for _, row in positions), default=0)
    width = max(LABEL_WIDTH + CHART_WIDTH + VALUE_WIDTH, LABEL_WIDTH + legend_width)
    group_height = BAR * len(series) + GAP
    height = top + group_height * len(groups) + 30
    bottom = top + group_height * len(groups)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           "<style>text { font: 11px sans-serif } .title { font-size: 13px; font-weight: bold } "
           ".value { font-size: 9px; fill: #444 } .label { text-anchor: end } .tick { text-anchor: middle; fill: #666 }"
           "</style>", '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="6" y="16" class="title">{escape(title)}</text>']
    for colour, name, (x, row) in zip(COLOURS, series, positions):
        x, y = x + LABEL_WIDTH, 24 + LEGEND_ROW * row
        out.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{x + 14}" y="{y + 9}">{escape(name)}</text>')
    for tick in _ticks(limit):
        x = LABEL_WIDTH + tick * scale
        out.append(f'<line x1="{x:.1f}" y1="{top - 3}" x2="{x:.1f}" y2="{bottom}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{bottom + 14}" class="tick">{100 * tick:g} %</text>')
    for index, (label, values) in enumerate(groups):
        y = top + index * group_height
        out.append(f'<text x="{LABEL_WIDTH - 6}" y="{y + BAR * len(series) / 2 + 4:.1f}" class="label">'
                   f'{escape(label)}</text>')
        for colour, value in zip(COLOURS, values):
            if value:
                low, middle, high = (LABEL_WIDTH + min(part, limit) * scale for part in value)
                out.append(f'<rect x="{LABEL_WIDTH}" y="{y}" width="{middle - LABEL_WIDTH:.1f}" height="{BAR - 1}" '
                           f'fill="{colour}"/>'
                           f'<line x1="{low:.1f}" y1="{y + BAR / 2 - .5}" x2="{high:.1f}" y2="{y + BAR / 2 - .5}" '
                           'stroke="#222"/>'
                           f'<text x="{high + 4:.1f}" y="{y + BAR - 2}" class="value">{100 * value[1]:.1f} %</text>')
            y += BAR
    return "\n".join(out + ["</svg>"]) + "\n"
