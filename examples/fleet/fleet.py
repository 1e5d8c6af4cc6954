#!/usr/bin/env python3
"""Loads the profiles of many hosts into ClickHouse, asks it by SQL, and compares the sum with that of hbbp merge.

    examples/fleet/fleet.py DIRECTORY

DIRECTORY has profiles as HOST/FILE or HOST.hbbp. The server is started for that, on the loopback interface with a
directory of its own, and stopped at the end. Needs clickhouse-server and clickhouse-client (scripts/setup --fleet), the
files of the profiled programs, and the command hbbp, on the PATH or named by HBBP_TOOL. Exit status: 0 if the sums are the
same, 1 if not, 77 if there is no ClickHouse.

Sums are the same where one source counts a block: of one kind of sampling, that is. Where two do, hbbp weighs them by what
the whole profile has, which no sum of results has; merge such profiles with hbbp merge first.
"""
import concurrent.futures
import csv
import datetime
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
HBBP = os.environ.get('HBBP_TOOL', 'hbbp')
SKIPPED = 77
ROWS_AT_ONCE = 200_000
START_S = 60
ROUNDING = 1e-6  # differences of sums in another order

CONFIG = '''<yandex>
  <logger><level>warning</level><log>{directory}/log</log><errorlog>{directory}/errors</errorlog></logger>
  <listen_host>127.0.0.1</listen_host><tcp_port>{port}</tcp_port><interserver_http_port>{other_port}</interserver_http_port>
  <path>{directory}/data/</path><tmp_path>{directory}/temporary/</tmp_path>
  <users_config>{directory}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
</yandex>
'''
USERS = '''<yandex>
  <profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota></default></users>
  <quotas><default></default></quotas>
</yandex>
'''


def free_ports(number):
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(('127.0.0.1', 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class ClickHouse:
    """A server that lives as long as the `with` block."""

    def __init__(self, server, client):
        self.server, self.client, self.process = server, client, None

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix='hbbp-fleet-')
        directory = pathlib.Path(self.directory.name)
        self.port, other_port = free_ports(2)
        (directory / 'config.xml').write_text(CONFIG.format(directory=directory, port=self.port, other_port=other_port))
        (directory / 'users.xml').write_text(USERS)
        (directory / 'data').mkdir()
        (directory / 'temporary').mkdir()
        with open(directory / 'output', 'wb') as output:
            self.process = subprocess.Popen([self.server, f'--config-file={directory}/config.xml'], cwd=directory,
                                            stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_S
        while self.run('SELECT 1', may_fail=True) is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = (directory / 'output').read_text(errors='replace')
                self.__exit__()
                sys.exit(f'{self.server} does not answer; it said:\n{said}')
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.directory.cleanup()

    def run(self, query, data=None, may_fail=False):
        """Returns rows of texts."""
        done = subprocess.run([self.client, '--host', '127.0.0.1', '--port', str(self.port), '--query', query],
                              input=data or '', capture_output=True, text=True)
        if done.returncode != 0:
            if may_fail:
                return None
            raise RuntimeError(f'{done.stderr.strip()}\nin: {query}')
        return [line.split('\t') for line in done.stdout.splitlines()]

    def insert(self, table, rows):
        if rows:
            self.run(f'INSERT INTO {table} FORMAT TabSeparated', ''.join(
                '\t'.join(str(cell).replace('\\', '\\\\').replace('\t', '\\t') for cell in row) + '\n'
                for row in rows))


def hbbp(*arguments):
    done = subprocess.run([HBBP, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def exported_blocks(profile):
    """[(build ID, start, row of hbbp export)]"""
    rows = csv.DictReader(hbbp('export', '--format', 'csv', '-o', '-', profile).splitlines())
    return [(row['build_id'] or row['module'], int(row['start'], 16), row) for row in rows]


def read_profile(path):
    return path, json.loads(hbbp('info', '--format', 'json', path)), exported_blocks(path)


class Loader:
    def __init__(self, server, root):
        self.server, self.root = server, root
        self.profiles, self.blocks, self.code = [], [], {}
        self.rows = 0

    def add(self, path, info, blocks):
        number = len(self.profiles)
        day = datetime.datetime.fromtimestamp(info['start_time_ns'] / 1e9, datetime.timezone.utc).date()
        service = os.path.basename((info['command'].split() or ['unknown'])[0])
        host = path.stem if path.parent == self.root else path.relative_to(self.root).parts[0]
        self.profiles.append((number, day, host, service, info['duration_ns'], info['recordings']))
        for build_id, start, row in blocks:
            self.blocks.append((day, service, build_id, start, number, row['count'], row['standard_error'] or 0,
                                row['samples'] or 0))
            self.code.setdefault((build_id, start), (int(row['end'], 16), row['module'], row['function'],
                                                     row['instructions']))
        if len(self.blocks) >= ROWS_AT_ONCE:
            self.flush()

    def flush(self):
        self.server.insert('blocks', self.blocks)
        self.rows += len(self.blocks)
        self.blocks = []

    def finish(self):
        self.flush()
        self.server.insert('profiles', self.profiles)
        self.server.insert('code', [(*key, *value) for key, value in self.code.items()])


def load_instructions(server, merged, blocks):
    """What blocks consist of does not change: it is read of one profile that has them all."""
    build_ids = {row['module']: build_id for build_id, _, row in blocks}
    counts = {(build_id, start): float(row['count']) for build_id, start, row in blocks}
    rows = []
    for row in csv.DictReader(hbbp('mix', '--by', 'block,mnemonic,category', '--values', 'instructions', '--format',
                                   'csv', merged).splitlines()):
        key = build_ids.get(row['module']), int(row['block'], 16) if row['block'].startswith('0x') else None
        if counts.get(key):
            rows.append((*key, row['mnemonic'], row['category'], float(row['instructions']) / counts[key]))
    server.insert('block_instructions', rows)
    return len(rows)


def queries():
    parts = re.split(r'^-- name: (\w+)\n', (HERE / 'queries.sql').read_text(), flags=re.MULTILINE)
    return {name: re.sub(r'^--.*\n', '', text, flags=re.MULTILINE) for name, text in zip(parts[1::2], parts[2::2])}


def difference(found, expected):
    """The largest relative difference of two {key: number}, whose keys must be the same."""
    if found.keys() != expected.keys():
        return float('inf')
    return max((abs(found[key] - expected[key]) / max(abs(expected[key]), 1) for key in expected), default=0)


def compare(server, merged, blocks):
    """Prints how far the sums of SQL are from those of hbbp merge. Returns whether they are the same."""
    asked = queries()
    rows = {(build_id, int(start)): tuple(map(float, numbers)) for build_id, start, *numbers in server.run(asked['merged'])}
    expected = {(build_id, start): float(row['count']) for build_id, start, row in blocks}
    of_blocks = difference({key: numbers[0] for key, numbers in rows.items()}, expected)
    errors = [[float(row['standard_error']) / bound for bound in rows[build_id, start][1:]]
              for build_id, start, row in blocks if (build_id, start) in rows and rows[build_id, start][1] > 0]
    mix = {mnemonic: float(instructions) for mnemonic, instructions in server.run(asked['mix'])}
    of_merge = {row['mnemonic']: float(row['instructions']) for row in csv.DictReader(
        hbbp('mix', '--by', 'mnemonic', '--values', 'instructions', '--format', 'csv', merged).splitlines())}
    of_mix = difference(mix, of_merge)
    print(f'{len(rows)} blocks in the sum: SQL and hbbp merge differ by {of_blocks:.1e} at most')
    print(f'{len(mix)} mnemonics: SQL and hbbp mix differ by {of_mix:.1e} at most')
    if errors:
        of_independent, of_same = (statistics.median(column) for column in zip(*errors))
        print(f'standard errors of hbbp merge are {of_independent:.2f} times those of independent errors, '
              f'{of_same:.2f} times the sum of errors (medians)')
    return max(of_blocks, of_mix) < ROUNDING


def print_query(server, name):
    begin = time.monotonic()
    rows = server.run(queries()[name])
    print(f'\n{name}, {len(rows)} rows in {time.monotonic() - begin:.2f} s')
    for row in rows[:8]:
        print('  ' + '  '.join(f'{float(cell):,.0f}' if re.fullmatch(r'[\d.]+(e\+?\d+)?', cell) else cell[:60]
                               for cell in row))


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    server, client = (shutil.which(name, path=os.environ['PATH'] + ':/usr/sbin')
                      for name in ('clickhouse-server', 'clickhouse-client'))
    if server is None or client is None:
        print('SKIPPED: needs clickhouse-server and clickhouse-client; scripts/setup --fleet installs them')
        sys.exit(SKIPPED)
    root = pathlib.Path(sys.argv[1])
    # Hidden files are left out, as by hbbp merge.
    paths = sorted(path for path in root.rglob('*') if path.is_file() and
                   not any(part.startswith('.') for part in path.relative_to(root).parts))
    with ClickHouse(server, client) as running, tempfile.TemporaryDirectory() as temporary:
        for statement in re.sub(r'--.*', '', (HERE / 'schema.sql').read_text()).split(';'):
            if statement.strip():
                running.run(statement)
        begin = time.monotonic()
        loader = Loader(running, root)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            for done in threads.map(read_profile, paths):
                loader.add(*done)
        loader.finish()
        seconds = time.monotonic() - begin
        merged = pathlib.Path(temporary) / 'merged.data'
        hbbp('merge', '--no-threads', '--no-slices', '-o', merged, root)
        blocks = exported_blocks(merged)
        load_instructions(running, merged, blocks)
        (table_bytes,), = running.run("SELECT sum(bytes) FROM system.parts WHERE active AND table = 'blocks'")
        print(f'{len(paths)} profiles, {loader.rows:,} rows of blocks in {seconds:.1f} s ({loader.rows / seconds:,.0f} '
              f'rows/s), {int(table_bytes):,} bytes on disk ({int(table_bytes) / max(loader.rows, 1):.1f} a row)')
        for name in ('mix', 'functions', 'services'):
            print_query(running, name)
        print()
        is_same = compare(running, merged, blocks)
    sys.exit(0 if is_same else 1)


if __name__ == '__main__':
    main()
