"""Makes a report like those in pages of hbbp export --format html, of a synthetic program."""
import json
import re

PROPERTIES = ['mnemonic', 'extension', 'category', 'vector-bits', 'memory']
TUPLES = [('vaddpd', 'AVX', 'arithmetic', '256', 'read'), ('add', 'BASE', 'arithmetic', '0', 'none'),
          ('jne', 'BASE', 'branch', '0', 'none'), ('mulsd', 'SSE2', 'arithmetic', '128', 'none')]
# The columns are function, address, count, error, tuples of its instructions, loop.
BLOCKS = [(0, 0x1000, 1000, 30, [0, 1, 2], 0), (0, 0x1020, 10, 3, [1, 2], -1),
          (1, 0x2000, 400, 20, [3, 3, 1, 2], 1)]

# From block to block.
EDGES = [(0, 0, 'branch', 990), (0, 1, 'next', 10), (2, 2, 'branch', 200)]


def columns(keys, rows):
    return {key: [row[at] for row in rows] for at, key in enumerate(keys)}


def report(names=('hot', 'cold'), label='plain'):
    values = [list(dict.fromkeys(one[at] for one in TUPLES)) for at in range(len(PROPERTIES))]
    index = [[values[at].index(one[at]) for at in range(len(PROPERTIES))] for one in TUPLES]
    sums = [sum(count * len(code) for function, _, count, _, code, _ in BLOCKS if function == at)
            for at in range(len(names))]
    rest = 100
    source = {'kind': 'ebs', 'event': 'instructions', 'unit': 'instructions', 'period': 1000,
              'frequency_hz': 0, 'samples': 90, 'taken_branches': 0, 'lost': 10, 'throttled': 1,
              'unmapped': 3, 'unexplained': 4, 'superseded': 6, 'reasons': [['no-code', 4]], 'counters': [],
              'note': label}
    return {
        'version': 5, 'files': [label], 'command': label, 'host': label, 'library': '0', 'pid': 7,
        'start_time_ms': 0, 'duration_ns': 1500000000, 'unit': 'instructions', 'estimator': 'ebs',
        'up_to_factor': False, 'caveats': [label], 'sources': [source],
        'modules': [{'path': f'/lib/{label}', 'build_id': '', 'kind': 'file', 'code': 'missing',
                     'problem': label, 'samples': 5}],
        'threads': [{'pid': 7, 'tid': 7, 'name': label, 'samples': 5, 'instructions': sum(sums) + rest, 'error': 11}],
        'thread_count': 1, 'process_count': 1, 'tasks': [{'pid': 7, 'thread': 0}],
        'slices': {'width_ns': 0, 'count': 0, 'joined': 1, 'samples': [], 'instructions': [], 'without_time': 0,
                   'timelines': []},
        'ibs': {'events': [], 'totals': [], 'row_count': 0, 'rows': {}, 'latencies': [], 'load_count': 0, 'loads': {},
                'lines': {'row_count': 0, 'rows': {}}, 'pages': {'row_count': 0, 'rows': {}},
                'objects': {'row_count': 0, 'rows': {}}, 'sampled_events': [], 'code': {}},
        'line_problems': [f'{label} has no lines'], 'instructions': sum(sums) + rest, 'function_count': 12, 'block_count': 99,
        'biased_block_count': 0, 'loop_count': 2,
        'properties': [{'key': key, 'values': values[at]} for at, key in enumerate(PROPERTIES)],
        'tuples': index,
        'functions': columns(['name', 'module', 'start', 'size', 'instructions', 'error', 'samples', 'source'],
                             [(name, 0, f'{0x1000 * (at + 1):x}', 0x100, sums[at], 9, 5, [0, 9, 14])
                              for at, name in enumerate(names)]),
        'blocks': columns(['module', 'function', 'start', 'size', 'count', 'error', 'samples', 'source',
                           'biased', 'loop', 'tasks', 'code'],
                          [(0, function, f'{start:x}', 4 * len(code), count, error, 5, 'ebs', 0, loop, 0,
                            [[4, one, f'{TUPLES[one][0]} {label}', 0, 10 + at] + ([0] if at == 1 else [])
                             for at, one in enumerate(code)])
                           for function, start, count, error, code, loop in BLOCKS]),
        'edges': columns(['from', 'to', 'kind', 'count'], EDGES),
        'rest': columns(['module', 'function', 'tuple', 'task', 'instructions', 'error'], [(0, -1, 1, 0, rest, 10)]),
        'mixes': [{'key': 'mnemonic', 'values': ['vaddpd'], 'errors': [77], 'share_errors': [0.01]}],
        'loops': columns(['module', 'function', 'header', 'depth', 'parent', 'blocks', 'entries',
                          'iterations', 'trips', 'trips_error', 'irreducible', 'instructions', 'error'],
                         [(0, 0, '1000', 1, -1, 1, 10, 1000, 100, 4, 0, 3000, 90),
                          (0, 1, '2000', 2, 0, 1, 200, 400, 2, 0.0001, 1, 1600, 80)]),
        'ratios': [{'group': 'memory', 'name': 'bytes-read', 'value': 12.5, 'unit': 'bytes', 'error': 0.75},
                   {'group': 'floating-point', 'name': 'flops-by-instruction', 'value': 0.00771, 'unit': 'operations/instruction', 'error': 0.00025},
                   {'group': 'vectors', 'name': 'packed', 'value': 0.25, 'unit': 'share', 'error': 0.0125},
                   {'group': 'floating-point', 'name': 'flops-half', 'value': 0, 'unit': 'operations', 'error': 0}],
        'source_files': [f'/src/{label}.c'], 'source_text': [{}], 'source_states': ['read'], 'source_problems': [], 'inlined': [f'inlined_{label}'],
    }


def report_of_twins():
    """Returns twins of modules, functions, source files and blocks, which differ in paths and addresses only."""
    data = report(('same', 'same'))
    data['modules'] = [{**data['modules'][0], 'path': f'/lib/{directory}/same.so'} for directory in ('one', 'two')]
    data['modules'].append({**data['modules'][0], 'build_id': '0a1b2c3d4e', 'samples': 0})
    data['functions'].update(module=[0, 1], start=['1000', '1000'])
    data['blocks'].update(module=[0, 0, 1], start=['1000', '1020', '1000'])
    data['loops'].update(module=[0, 1], header=['1000', '1000'])
    data.update(source_files=['/src/one/same.c', '/src/two/same.c'], source_text=[{}, {}], source_states=['read', 'read'])
    for instruction in data['blocks']['code'][2]:
        instruction[3] = 1
    data['inlined'] = ['same']
    return data


def with_threads(data):
    """Adds two processes that share blocks; one has a thread that is not distinguished, and so have others."""
    data['threads'] = [{'pid': pid, 'tid': tid, 'name': name, 'samples': 1, 'instructions': instructions, 'error': error}
                       for pid, tid, name, instructions, error in
                       [(7, 7, 'main', 1800, 30), (7, 8, 'worker', 2000, 40), (9, 9, 'other', 700, 20),
                        (7, 10, 'rare', 20, 1)]]
    data.update(thread_count=6, process_count=3)
    data['tasks'] = [{'pid': 7, 'thread': 0}, {'pid': 7, 'thread': 1}, {'pid': 9, 'thread': 2},
                     {'pid': 7, 'thread': -1}, {'pid': -1, 'thread': -1}]
    data['blocks']['tasks'] = [[[0, 600, 20], [1, 400, 10]], 3, [[1, 200, 5], [2, 150, 5], [4, 50, 5]]]
    data['rest']['task'] = [2]
    return data


def with_slices(data):
    data['slices'] = {
        'width_ns': 200000000, 'count': 6, 'joined': 2, 'samples': [4, 0, 1], 'instructions': [3000, 0, 1000],
        'without_time': 720, 'timelines': [
            {'key': 'extension', 'values': ['BASE', 'AVX'], 'instructions': [[2000, 0, 250], [700, 0, 0]], 'other_values': 3},
            {'key': 'category', 'values': ['arithmetic', 'branch'], 'instructions': [[2000, 0, 400], [1000, 0, 600]],
             'other_values': 0},
            {'key': 'function', 'values': data['functions']['name'], 'instructions': [[3000, 0, 0], [0, 0, 1000]],
             'other_values': 0}],
    }
    return data


def accesses(row_count, rows):
    return {'row_count': row_count, 'rows': columns(
        ['pid', 'module', 'address', 'size', 'name', 'loads', 'stores', 'misses', 'miss_cycles', 'local', 'remote',
         'threads', 'node'], rows)}


def with_ibs(data):
    name, label = data['functions']['name'][0], data['command']
    data['ibs'] = {
        'events': ['op-samples', 'op-dc-misses', 'op-tag-to-retire-cycles'], 'totals': [40, 9, 800], 'row_count': 7,
        'rows': columns(['module', 'function', 'address', 'name', 'text', 'values'],
                        [(0, 0, '1004', data['functions']['name'][0], 'add plain', [30, 2, 500]), (0, -1, None, '', '', [10, 7, 300])]),
        'latencies': [{'name': 'tag-to-retire', 'buckets': [[16, 20, 30], [20, 21, 10]]}],
        'load_count': 5,
        'loads': columns(['module', 'function', 'address', 'name', 'text', 'levels'], [
            (0, 0, '1000', name, 'vaddpd plain', [
                {'name': 'l1', 'buckets': [[0, 1, 60]]}, {'name': 'l2', 'buckets': [[12, 14, 5], [14, 16, 15]]},
                {'name': 'local-dram', 'buckets': [[12, 14, 1], [448, 512, 19]]}]),
            (0, -1, None, '', '', [{'name': 'unknown', 'buckets': [[1024, 1280, 7]]}])]),
        'lines': accesses(9, [(7, -1, '7f0000001040', 0, '', 30, 10, 4, 900, 3, 1, 2, '0 (75.00 %), 1 (25.00 %)'),
                              (7, -1, '7f0000001080', 0, '', 5, 0, 1, 100, 1, 0, 1, '')]),
        'pages': accesses(2, [(7, -1, '7f0000001000', 0, '', 35, 10, 5, 1000, 4, 1, 2, '0'),
                              (8, -1, '7f0000001000', 0, '', 2, 0, 0, 0, 0, 0, 1, '1')]),
        'objects': accesses(2, [(0, 0, '4010', 64, f'table_{label}', 20, 10, 5, 1000, 4, 1, 2, ''),
                                (0, -1, None, 0, '[other memory]', 17, 0, 0, 0, 0, 0, 1, '')]),
        'sampled_events': ['cycles'],
        'code': columns(['block', 'at', 'samples', 'ops', 'misses', 'mean_miss'],
                        [(0, 0, [3], 30, 2, 250.5), (0, 1, [40], 0, 0, None), (1, 1, [], 5, 0, None)]),
    }
    return data


def with_many_blocks(data):
    """Adds a hundred copies of the first function, the first ones the busiest."""
    blocks = data['blocks']
    for key, column in blocks.items():
        blocks[key] = column + [column[1]] * 97
    blocks['start'] = [f'{0x1000 + 16 * at:x}' for at in range(100)]
    blocks['count'] = [1000 - at for at in range(100)]
    blocks['code'] = [blocks['code'][0]] * 100
    blocks['function'] = [0] * 100
    return data


def with_builds(data):
    """Gives the twins the same path."""
    for module, build_id in zip(data['modules'], ('0123456789', '9876543210', 'cccccccccc')):
        module.update(path='/lib/same.so', build_id=build_id)
    return data


def escaped(data):
    return json.dumps(data).replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')


def page_with(page, data):
    """Returns the page with other data in it."""
    found = re.fullmatch(r'(.*<script type="application/json" id="data">)(.*?)(</script>.*)', page, re.S)
    return found[1] + escaped(data) + found[3]


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
