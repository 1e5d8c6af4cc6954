"""Converts scikit-learn's decision trees to the library's format, evaluates and draws them.

A tree is a list of nodes, the root first, children after their parents: {"feature": "length",
"threshold": 18, "yes": 1, "no": 2}, where a value of at most the threshold goes to "yes", or
{"class": "streams"}.
"""

from xml.sax.saxutils import escape

import numpy

from labelled_blocks import CLASSES, FEATURES

PUBLISHED = [{"feature": "length", "threshold": 18, "yes": 1, "no": 2}, {"class": "streams"},
             {"class": "ebs"}]


def rows_by_node(nodes, features):
    """Yields the index of each node that rows reach, and which rows of `features` reach it."""
    waiting = [(0, numpy.arange(len(features)))]
    while waiting:
        index, rows = waiting.pop()
        if not len(rows):
            continue
        yield index, rows
        node = nodes[index]
        if "class" not in node:
            goes_to_yes = features[rows, FEATURES.index(node["feature"])] <= node["threshold"]
            waiting += [(node["yes"], rows[goes_to_yes]), (node["no"], rows[~goes_to_yes])]


def classes(nodes, features):
    """Returns the class of each row of `features`, as an index into CLASSES."""
    result = numpy.zeros(len(features), dtype=numpy.int8)
    for index, rows in rows_by_node(nodes, features):
        if "class" in nodes[index]:
            result[rows] = CLASSES.index(nodes[index]["class"])
    return result


def weight_by_node(nodes, features, weights):
    """Returns the share of the weight that reaches each node."""
    result = numpy.zeros(len(nodes))
    for index, rows in rows_by_node(nodes, features):
        result[index] = weights[rows].sum()
    return result / max(weights.sum(), numpy.finfo(float).tiny)


def from_sklearn(tree, learned_classes):
    """Returns the nodes of a fitted sklearn.tree's tree_, without splits that decide nothing."""
    nodes = []

    def same_class(index):
        """Returns the class of all leaves below, or None."""
        if tree.children_left[index] < 0:
            return int(learned_classes[tree.value[index, 0].argmax()])
        left, right = same_class(tree.children_left[index]), same_class(tree.children_right[index])
        return left if left == right else None

    def add(index):
        position = len(nodes)
        nodes.append({})
        only = same_class(index)
        if only is not None:
            nodes[position] = {"class": CLASSES[only]}
            return position
        nodes[position] = {"feature": FEATURES[tree.feature[index]],
                           "threshold": float(tree.threshold[index])}
        nodes[position]["yes"] = add(tree.children_left[index])
        nodes[position]["no"] = add(tree.children_right[index])
        return position

    add(0)
    return nodes


def leaf_count(nodes):
    return sum("class" in node for node in nodes)


def to_text(nodes, index=0, indent=""):
    """Draws the tree as text."""
    node = nodes[index]
    if "class" in node:
        return f"{indent}{node['class']}\n"
    return (f"{indent}{node['feature']} <= {node['threshold']:.6g}?\n"
            f"{indent}  yes:\n{to_text(nodes, node['yes'], indent + '    ')}"
            f"{indent}  no:\n{to_text(nodes, node['no'], indent + '    ')}")


COLOURS = {"ebs": "#f6c89f", "streams": "#a9cdea"}
BOX_WIDTH, BOX_HEIGHT, GAP, LEVEL, MARGIN = 168, 40, 12, 78, 16


def to_svg(nodes, shares):
    """Draws the tree. `shares` has the share of the blocks' weight that reaches each node."""
    positions = {}
    leaves = 0

    def set_position(index, depth):
        nonlocal leaves
        node = nodes[index]
        if "class" in node:
            x = leaves * (BOX_WIDTH + GAP)
            leaves += 1
        else:
            x = (set_position(node["yes"], depth + 1) + set_position(node["no"], depth + 1)) / 2
        positions[index] = (x + MARGIN, depth * LEVEL + MARGIN)
        return x

    set_position(0, 0)
    width = leaves * (BOX_WIDTH + GAP) - GAP + 2 * MARGIN
    height = max(y for _, y in positions.values()) + BOX_HEIGHT + MARGIN
    lines, boxes = [], []
    for index, node in enumerate(nodes):
        x, y = positions[index]
        middle = x + BOX_WIDTH / 2
        for answer in ("yes", "no") if "class" not in node else ():
            child_x, child_y = positions[node[answer]]
            child_middle = child_x + BOX_WIDTH / 2
            lines.append(f'<line x1="{middle:g}" y1="{y + BOX_HEIGHT:g}" x2="{child_middle:g}" '
                         f'y2="{child_y:g}" stroke="#777"/>')
            lines.append(f'<text x="{(middle + child_middle) / 2:g}" '
                         f'y="{(y + BOX_HEIGHT + child_y) / 2 + 4:g}" class="answer">{answer}</text>')
        text = node.get("class") or f"{node['feature']} \u2264 {node['threshold']:.4g}"
        boxes.append(f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5" '
                     f'fill="{COLOURS.get(node.get("class"), "#fff")}" stroke="#444"/>')
        boxes.append(f'<text x="{middle:g}" y="{y + 17:g}">{escape(text)}</text>')
        boxes.append(f'<text x="{middle:g}" y="{y + 32:g}" class="share">'
                     f'{100 * shares[index]:.1f} % of the weight</text>')
    style = ("text { font: 12px sans-serif; text-anchor: middle } .share { font-size: 10px; fill: #444 } "
             ".answer { font-size: 10px; stroke: #fff; stroke-width: 3px; paint-order: stroke }")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}">\n<style>{style}</style>\n'
            '<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(lines + boxes) + "\n</svg>\n")
