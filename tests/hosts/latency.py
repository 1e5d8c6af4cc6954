#!/usr/bin/env python3
"""Compares the latency of servers under hbbp record, with default options, with that of plain ones.

usage: latency.py [--build DIR] [--host NAME]... [--rounds N] [--starts N] [--seconds N] [--control]
                  [--outside] [--record-options OPTIONS]

Two servers run at once, one of them profiled, and get the same load in turn, for some seconds each, the
plain one first in every second round. After N rounds both are started anew, since the memory layout of a
process may be faster by chance. Prints the median of the ratios of the rounds, of 99th percentiles, of requests
per second and of the CPU time of the whole machine per request, each with the interval that contains the
true median at 95 %. The last one varies least from round to round. --control: neither is
profiled, which shows the effect of the machine itself. --outside: branches are traced from outside, of a server
that runs already (hbbp record --pid PID --children --source swbt). It needs a machine without other load.
"""
import argparse
import contextlib
import math
import os
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import time

import hosts
import soak

CONNECTIONS = 4


class Compared(soak.Runner):
    """One of two concurrent servers, profiled with the defaults or not at all."""

    def wrapped(self, command, way, mode):
        if way == 'record':
            more = shlex.split(self.options.record_options)
            return [str(self.options.build.tool), 'record', *more, '-o', str(self.profile), '--', *command], {}
        return command, {}

    @contextlib.contextmanager
    def serving(self, is_profiled):
        self.port = soak.free_port()
        self.write_files()
        starts_recorder = is_profiled and not self.options.outside
        with self.started('record' if starts_recorder else 'plain', None) as process:
            self.wait_for_port(process)
            with self.observed(process.pid) if is_profiled and self.options.outside else contextlib.nullcontext():
                yield self

    @contextlib.contextmanager
    def observed(self, pid):
        command = [str(self.options.build.tool), 'record', '--pid', str(pid), '--children', '--source', 'swbt',
                   '-o', str(self.profile)]
        with subprocess.Popen(command, cwd=self.work, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
            try:
                yield
                # Without a profile, both were plain.
                recorder.send_signal(signal.SIGINT)
                _, said = recorder.communicate(timeout=60)
                if not any(self.work.glob('profile*')):
                    raise soak.Harmed(f'no profile: {said}')
            finally:
                recorder.kill()


def run(runner, *words):
    return subprocess.run(runner.command(words), cwd=runner.work, env=runner.environment(), capture_output=True, text=True,
                          check=True, **runner.identity()).stdout


def machine_cpu_seconds():
    """Returns the time that all processors have not been idle."""
    with open('/proc/stat', encoding='ascii') as stat:
        user, nice, system, _, _, irq, softirq = map(int, stat.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf('SC_CLK_TCK')


def percentile_99(times):
    return sorted(times)[len(times) * 99 // 100]


# Each returns the 99th percentile in microseconds, and requests per second.


def load_postgres(runner, seconds):
    text = run(runner, hosts.POSTGRES + 'pgbench', '-n', '-S', '-M', 'prepared', '-c', str(CONNECTIONS), '-j', '1', '-T',
               str(seconds), '-l', *hosts.PG_CONNECTION, 'postgres')
    return percentile_99(hosts.pgbench_times(runner.work)), hosts.pgbench_rates(text)[0]


def exchange(connection, request, end, seconds):
    """Sends a request, waits for the whole answer, sends the next."""
    times = []
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        begin = time.perf_counter_ns()
        connection.sendall(request)
        answer = b''
        while not answer.endswith(end):
            answer += connection.recv(1 << 16)
        times.append((time.perf_counter_ns() - begin) / 1000)
    return percentile_99(times), len(times) / seconds


def load_redis(runner, seconds):
    with socket.create_connection(('127.0.0.1', runner.port)) as connection:
        return exchange(connection, b'LPUSH list value\r\nLTRIM list 0 99\r\nLRANGE list 0 99\r\nPING\r\n',
                        b'+PONG\r\n', seconds)


def load_memcached(runner, seconds):
    value = b'x' * 512
    with socket.create_connection(('127.0.0.1', runner.port)) as connection:
        request = b'set key 0 0 %d noreply\r\n%s\r\nget key\r\n' % (len(value), value)
        return exchange(connection, request, b'END\r\n', seconds)


def load_nginx(runner, seconds):
    with socket.create_connection(('127.0.0.1', runner.port)) as connection:
        request = b'GET /page.txt HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n'
        return exchange(connection, request, b'\r\n0\r\n\r\n', seconds)


LOADS = {'PostgreSQL': load_postgres, 'redis': load_redis, 'nginx': load_nginx, 'memcached': load_memcached}


def interval_of_median(values):
    """Returns an interval by ranks, which assumes no distribution: the order statistics at n/2 -+ 0.98 sqrt(n)."""
    ordered = sorted(values)
    reach = 0.98 * math.sqrt(len(ordered))
    low = max(0, math.floor(len(ordered) / 2 - reach))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + reach))
    return ordered[low], ordered[high]


def shown(values):
    low, high = interval_of_median(values)
    return f'{statistics.median(values):.3f} ({low:.3f} to {high:.3f})'


def compare(options, host):
    load = LOADS[host.name]
    latencies, ratios, rates, costs = [], [], [], []

    def measure(runner):
        begin = machine_cpu_seconds()
        latency, rate = load(runner, options.seconds)
        return latency, rate, (machine_cpu_seconds() - begin) / rate

    for _ in range(options.starts):
        with Compared(options, host) as a, Compared(options, host) as b:
            a.prepare()
            b.prepare()
            with a.serving(False) as plain, b.serving(not options.control) as profiled:
                for runner in (plain, profiled):
                    if host.name == 'PostgreSQL':
                        run(runner, *host.load[0])
                    load(runner, options.seconds)
                for index in range(options.rounds):
                    order = (plain, profiled) if index % 2 == 0 else (profiled, plain)
                    found = {runner: measure(runner) for runner in order}
                    latencies.append(found[plain][0])
                    ratios.append(found[profiled][0] / found[plain][0])
                    rates.append(found[profiled][1] / found[plain][1])
                    costs.append(found[profiled][2] / found[plain][2])
    print(f'| {host.name} | {statistics.median(latencies):.0f} | {shown(ratios)} | {shown(rates)} | {shown(costs)} | '
          f'{len(ratios)} |', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    soak.add_build(parser)
    parser.add_argument('--host', action='append', choices=LOADS, default=[])
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--starts', type=int, default=2)
    parser.add_argument('--seconds', type=int, default=2)
    parser.add_argument('--control', action='store_true')
    parser.add_argument('--outside', action='store_true')
    parser.add_argument('--record-options', default='', help='more options of hbbp record; not with --outside')
    options = parser.parse_args()
    print('| server | plain p99, us | p99, profiled to plain | requests a second | CPU a request | rounds |\n'
          '|---|---|---|---|---|---|')
    for host in hosts.SERVERS:
        if host.name in (options.host or LOADS):
            compare(options, host)
    return 0


if __name__ == '__main__':
    sys.exit(main())
