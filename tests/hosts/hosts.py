"""The hosts of soak.py: servers, runtimes and small programs, a few lines each."""
import concurrent.futures
import hashlib
import pathlib
import re
import socket
import urllib.request

from host import Batch, Server

SOURCE = pathlib.Path(__file__).resolve().parent
POSTGRES = '/usr/lib/postgresql/15/bin/'
# A session of the library belongs to the program, which must stop it before it forbids its system calls.
OWN_SESSION = 'who starts a session stops it before the filter is set'
# The reason for programs that need processes of a single thread.
ONE_THREAD = 'the thread that starts the sessions is one more'


def small(name, *arguments, suffix='', **options):
    """Returns one of tests/hosts/programs."""
    command = ['{programs}/' + name, *map(str, arguments)]
    return Batch(name=name + suffix, command=command, is_fast=True, **options)


NO_STACK = 'an alternate signal stack is for the host to give'

SMALL = [
    small('changing_code', 3000),
    small('churn_processes', 300, forks=True),
    small('churn_threads', 2, changes=('threads', 'mappings')),
    small('errno_kept', 60000),
    small('fault_handlers', 'lazy', 100, suffix=' lazy', changes=('mappings',)),
    small('fault_handlers', 'barrier', 60, suffix=' barrier', changes=('mappings',)),
    small('filtered', 'kill', suffix=' kill', why_no_restart=OWN_SESSION),
    small('filtered', 'trap', suffix=' trap', why_no_restart=OWN_SESSION),
    small('filtered', 'errno', suffix=' errno'),
    small('filtered', 'strict', suffix=' strict', why_no_restart=ONE_THREAD),
    small('forks_in_handler', 100, why_no_restart=ONE_THREAD),
    small('load_libraries', '{library}', 2000, why_no_restart='it keeps an address range of each round'),
    small('narrow_limits', 'memory', 6000, suffix=' memory', why_no_restart='it is up to a second until sessions give address space back'),
    small('narrow_limits', 'files', 1000, suffix=' files', why_no_restart='sessions open files when they start'),
    small('narrow_limits', 'close', 5000, suffix=' close', why_no_restart='sessions open files when they start'),
    small('narrow_limits', 'lock', 6000, suffix=' lock'),
    small('overflows', 'recover', 300, suffix=' recover'),
    small('overflows', 'die', suffix=' die', status=139, may_lack_samples=True),
    small('own_handlers', 1000),
    small('protection_keys', 600),
    small('shares_stack', 16, 4000000, why_no_restart=NO_STACK),
    small('steady', 400),
    small('tiles', 12000),
    small('user_faults', 120),
    small('waits_for_signals', 200, may_lack_samples=True,
          why_no_restart='who starts sessions leaves SIGTRAP out of what it waits for'),
    *[small('ends_early', way, 50, suffix=' ' + way, status=status, may_lack_samples=True)
      for way, status in (('exit_group', 0), ('abort', 134), ('kill', 137), ('fault', 139), ('return', 5))],
    small('ends_early', 'exit', 50, suffix=' exit', status=7, may_lack_samples=True, why_no_restart=ONE_THREAD),
]


def of_integration(name, *arguments, suffix='', **options):
    """Returns one of tests/integration/programs."""
    command = ['{integration}/' + name, *map(str, arguments)]
    return Batch(name=name + suffix, command=command, is_fast=True, **options)


SMALL += [
    of_integration('coroutines', 64, 6000, 2048, why_no_restart=NO_STACK),
    of_integration('coroutines', 64, 6000, 2048, 'posix', suffix=' of a thread', why_no_restart=NO_STACK),
    of_integration('restartable', 'ANYWHERE', 1000000, may_lack_bursts_in=('verify', 'breakpoint')),
]

# Runtimes ---------------------------------------------------------------------------------------

NODE = """
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
function work(seed) {
  const counts = new Map();
  let x = seed;
  for (let i = 0; i < 1500000; ++i) {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0;
    const key = 'k' + (x >>> 22);
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  const text = JSON.stringify([...counts]);
  return JSON.parse(text).reduce((sum, [key, count]) => (sum * 31 + key.length * count) % 1000003, 7);
}
if (!isMainThread) {
  parentPort.postMessage(work(workerData));
} else {
  const results = [];
  for (let i = 0; i < 4; ++i) {
    new Worker(__filename, { workerData: i + 1 }).on('message', (sum) => {
      results.push(sum);
      if (results.length === 4) console.log(results.sort().join(' '), work(9));
    });
  }
}
"""

JAVA = """
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Work {
  static long sum(int seed) {
    Random random = new Random(seed);
    Map<String, Integer> counts = new TreeMap<>();
    for (int i = 0; i < 300000; ++i) counts.merge("k" + random.nextInt(5000), 1, Integer::sum);
    long nulls = 0;
    Object[] holes = new Object[1000];
    for (int i = 0; i < 20000; ++i) {
      try {
        nulls += holes[i % 1000].hashCode();
      } catch (NullPointerException e) {
        nulls += 1;
      }
    }
    return counts.values().stream().mapToLong(x -> (long) x * x).sum() + nulls;
  }

  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Long>> results = new ArrayList<>();
    for (int i = 0; i < 12; ++i) {
      final int seed = i;
      results.add(pool.submit(() -> sum(seed)));
    }
    long all = 0;
    for (Future<Long> result : results) all = all * 31 + result.get();
    pool.shutdown();
    System.out.println(all + " " + IntStream.range(0, 3000000).filter(x -> x % 7 == 3).count());
  }
}
"""

CGO = """
package main

/*
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void sort_numbers(int *numbers, int count) { qsort(numbers, count, sizeof(int), compare); }
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"unsafe"
)

func work(seed int) int {
	numbers := make([]C.int, 20000)
	x := uint32(seed)
	for round := 0; round < 40; round++ {
		for i := range numbers {
			x = x*1103515245 + 12345
			numbers[i] = C.int(x >> 4)
		}
		C.sort_numbers((*C.int)(unsafe.Pointer(&numbers[0])), C.int(len(numbers)))
	}
	sum := 0
	for i, number := range numbers {
		sum = (sum*31 + int(number)*i) % 1000003
	}
	return sum
}

func dereference(p *int) (result int) {
	defer func() {
		if recover() != nil {
			result = 1
		}
	}()
	return *p
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	var wait sync.WaitGroup
	results := make([]int, 16)
	for i := range results {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			results[i] = work(i+1) + dereference(nil)
		}(i)
	}
	wait.Wait()
	syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
	<-signals
	fmt.Println(results)
}
"""

RUBY = """
threads = (1..4).map do |seed|
  Thread.new do
    x = seed
    counts = Hash.new(0)
    300_000.times do
      x = (x * 1103515245 + 12345) % 2147483648
      counts["k#{x >> 20}"] += 1
    end
    counts.sort.reduce(7) { |sum, (key, count)| (sum * 31 + key.size * count) % 1000003 }
  end
end
fibers = (1..200).map { |n| Fiber.new { 50.times { |i| Fiber.yield n * i }; nil } }
total = 0
while (value = fibers.map(&:resume).compact).any? do total += value.sum end
GC.stress = false
puts threads.map(&:value).join(' '), total, `echo child`
"""

PHP = """<?php
$x = 1;
$counts = [];
for ($i = 0; $i < 3000000; ++$i) {
  $x = ($x * 1103515245 + 12345) % 2147483648;
  $key = 'k' . ($x >> 20);
  $counts[$key] = ($counts[$key] ?? 0) + 1;
}
ksort($counts);
$text = json_encode($counts);
echo md5($text), ' ', preg_match_all('/"k1[0-9]+"/', $text), ' ', strlen(serialize(json_decode($text))), "\\n";
"""

PERL = """
use strict; use warnings; use Time::HiRes qw(ualarm);
my ($alarms, $sum, $x) = (0, 0, 1);
$SIG{ALRM} = sub { ++$alarms };
ualarm(2000, 2000);
my %counts;
for my $round (1 .. 1500000) {
  $x = ($x * 1103515245 + 12345) % 2147483648;
  $counts{'k' . ($x >> 20)}++;
}
ualarm(0);
$sum = ($sum * 31 + length($_) * $counts{$_}) % 1000003 for sort keys %counts;
print "$sum ", ($alarms > 0 ? 'alarms' : 'no alarm'), "\\n";
"""

LISP = """
(defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))
(print (f 31))
(let ((lists nil))
  (dotimes (i 2000000) (push (cons i i) lists) (when (= 0 (mod i 100000)) (setf lists nil))))
(print (handler-case (car (eval '(identity "text"))) (type-error () :type)))
(print (handler-case (eval '(/ 1 0)) (division-by-zero () :zero)))
(print (let ((table (make-hash-table :test 'equal)))
  (dotimes (i 100000) (setf (gethash (format nil "~a" i) table) i)) (hash-table-count table)))
(sb-ext:gc :full t)
"""

SCHEME = """
(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))
(display (f 30)) (newline)
(display (length (let loop ((i 0) (l '())) (if (= i 600000) l (loop (+ i 1) (cons i l))))))
"""

ERLANG = """
List = lists:seq(1, 200000),
io:format("~p~n", [lists:sum(lists:map(fun(X) -> X * X rem 7 end, List))]),
Sorts = [spawn_monitor(fun() -> lists:sort([erlang:phash2({X, I}) || X <- lists:seq(1, 20000)]) end)
         || I <- lists:seq(1, 8)],
[receive {'DOWN', Reference, _, _, Reason} -> io:format("~p~n", [Reason]) end || {_, Reference} <- Sorts],
halt(0).
"""

# Its processes look how many threads they have, fork, and set seccomp filters.
PAGE = '<p id="sum"></p><script>let s = 0; for (let i = 0; i < 2e7; ++i) s += i % 7; sum.textContent = s;</script>'


def make_files(count):
    files = {'Makefile': 'all: program\n\t./program\n'
                         'OBJECTS = ' + ' '.join(f'part{i}.o' for i in range(count)) + ' main.o\n'
                         'program: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n'
                         '%.o: %.c\n\t$(CC) -O2 -c -o $@ $<\n'}
    for i in range(count):
        cases = ''.join(f'case {k}: sum += n * {k * i + 3}; break;\n' for k in range(30))
        files[f'part{i}.c'] = (f'int part{i}(int n) {{ int sum = 0; for (int j = 0; j < n; ++j) '
                               f'switch (j % 37) {{ {cases} }} return sum; }}\n')
    calls = ' + '.join(f'part{i}({i})' for i in range(count))
    declarations = ''.join(f'int part{i}(int n);\n' for i in range(count))
    files['main.c'] = f'#include <stdio.h>\n{declarations}int main(void) {{ printf("%d\\n", {calls}); }}\n'
    return files


def python_tests_passed(text):
    return '' if 'Tests result: SUCCESS' in text or '== Tests result: SUCCESS ==' in text else text[-300:]


def what_matters_of_gdb(text):
    """Keeps the breakpoints that were hit, by whatever thread, the program's output, and how it ended."""
    lines = [line for line in text.splitlines() if re.search('hit Breakpoint|^sum |exited normally', line)]
    return re.sub(r'process \d+|Thread \d+', 'N', '\n'.join(lines))


RUNTIMES = [
    Batch('python3', ['/usr/bin/python3', '-m', 'test', 'test_json', 'test_struct', 'test_zlib',
                      'test_fork1'], packages='python3 libpython3.11-testsuite', compares_stdout=False,
          check=python_tests_passed),
    Batch('node', ['node', '{work}/work.js'], packages='nodejs', files={'work.js': NODE}),
    Batch('java', ['java', '-Xmx256m', '-cp', '{work}', 'Work'], packages='openjdk-17-jdk-headless',
          files={'Work.java': JAVA}, prepare=[['javac', '-d', '{work}', '{work}/Work.java']]),
    Batch('go with cgo', ['{work}/cgo'], packages='golang-go', files={'cgo.go': CGO},
          prepare=[['env', 'HOME={work}', 'GOCACHE={work}/cache', 'GO111MODULE=off', 'GOFLAGS=-p=1', 'go', 'build', '-o',
                    '{work}/cgo', '{work}/cgo.go']]),
    Batch('ruby', ['ruby', '{work}/work.rb'], packages='ruby', files={'work.rb': RUBY}),
    Batch('php', ['php', '{work}/work.php'], packages='php-cli', files={'work.php': PHP}),
    Batch('perl', ['perl', '{work}/work.pl'], packages='perl', files={'work.pl': PERL}),
    Batch('sbcl', ['sbcl', '--noinform', '--non-interactive', '--load', '{work}/work.lisp'], packages='sbcl',
          files={'work.lisp': LISP}),
    Batch('guile', ['guile', '--no-auto-compile', '{work}/work.scm'], packages='guile-3.0', files={'work.scm': SCHEME}),
    Batch('erlang', ['erl', '-noshell', '-eval', ERLANG], packages='erlang-base'),
    Batch('chromium', ['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--user-data-dir={work}/data', '--dump-dom',
                       'file://{work}/page.html'], packages='chromium', files={'page.html': PAGE}),
    Batch('make -j2', ['make', '-j2', '-s', '-C', '{work}'], packages='make gcc', files=make_files(12),
          outputs=['program', *[f'part{i}.o' for i in range(12)]]),
    Batch('strace', ['strace', '-f', '-o', '/dev/null', '{programs}/steady', '150'], packages='strace', patience=10),
    # A debugger stops at each SIGTRAP, and so at each sample, unless it is configured to discard them.
    # If it passes them on, gdb kills the program by those of its own breakpoints.
    Batch('gdb', ['gdb', '-batch', '-nx', '-ex', 'set debuginfod enabled off', '-ex', 'set startup-with-shell off',
                  '-ex', 'handle SIGTRAP nostop noprint', '-ex', 'break SteadyStep', '-ex', 'run', '-ex', 'ignore 1 20', '-ex', 'continue', '-ex',
                  'frame 0', '-ex', 'delete', '-ex', 'continue', '--args', '{programs}/steady', '60'], packages='gdb',
          normalize=what_matters_of_gdb),
]

# Servers ----------------------------------------------------------------------------------------

REDIS_KEYS = 500


def ask_redis(port):
    """Writes keys, reads them again, and runs a script of Lua on them."""
    with socket.create_connection(('127.0.0.1', port), timeout=20) as connection:
        stream = connection.makefile('rwb')
        for i in range(REDIS_KEYS):
            stream.write(f'SET asked{i} {i * i}\r\nINCRBY asked{i} {i}\r\n'.encode())
        script = "local s = 0 for i = 0, 499 do s = s + redis.call('GET', 'asked' .. i) end return s"
        stream.write(f'*3\r\n$4\r\nEVAL\r\n${len(script)}\r\n{script}\r\n$1\r\n0\r\n'.encode())
        stream.flush()
        return ''.join(stream.readline().decode() for _ in range(2 * REDIS_KEYS + 1))


def redis_latency(work, text):
    """Parses the lines of --csv: "test","rps","avg","min","p50","p95","p99","max"."""
    rows = [[field.strip('"') for field in line.split(',')] for line in text.splitlines()
            if line.startswith('"') and not line.startswith('"test"')]
    return max(float(row[6]) for row in rows), sum(float(row[1]) for row in rows) / len(rows)


def ask_memcached(port, prefix='key'):
    with socket.create_connection(('127.0.0.1', port), timeout=20) as connection:
        stream = connection.makefile('rwb')
        answers = []
        for round_ in range(20):
            for i in range(500):
                value = f'{i * round_}'
                stream.write(f'set {prefix}{i} 0 0 {len(value)}\r\n{value}\r\nget {prefix}{i}\r\n'.encode())
            stream.flush()
            answers += [stream.readline() for _ in range(500 * 4)]
        return hashlib.sha256(b''.join(answers)).hexdigest()


def ask_memcached_at_once(port):
    """Loads the server by four clients, so that its threads wait for one another's locks."""
    with concurrent.futures.ThreadPoolExecutor(4) as clients:
        return ' '.join(answer for _ in range(5)
                        for answer in clients.map(lambda name: ask_memcached(port, name), 'abcd'))


NGINX_CONFIGURATION = """
daemon off;
pid {work}/nginx.pid;
error_log {work}/error.log;
worker_processes 2;
events { worker_connections 256; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path {work}/body;
  proxy_temp_path {work}/proxy;
  fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi;
  scgi_temp_path {work}/scgi;
  gzip on;
  gzip_types text/plain;
  server {
    listen 127.0.0.1:{port};
    root {work}/pages;
  }
}
"""


def ask_nginx(port):
    digest = hashlib.sha256()
    for headers in ({}, {'Accept-Encoding': 'gzip'}, {'Range': 'bytes=100-5000'}):
        request = urllib.request.Request(f'http://127.0.0.1:{port}/page.txt', headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            digest.update(answer.read())
    return digest.hexdigest()


def nginx_failed(text):
    failed = re.search(r'Failed requests:\s+(\d+)', text)
    return '' if failed and failed[1] == '0' and 'Non-2xx' not in text else text[-300:]


def ab_latency(work, text):
    percentiles = [float(value) for value in re.findall(r'^\s+99%\s+(\d+)', text, re.M)]
    rates = [float(value) for value in re.findall(r'^Requests per second:\s+([\d.]+)', text, re.M)]
    return max(percentiles), sum(rates) / len(rates)


def pgbench_failed(text):
    if text.count('number of failed transactions: 0 ') < 1:
        return text[-300:]
    sums = re.findall(r'^sums (.*)$', text, re.M)
    return '' if sums and len(set(sums[-1].split('|'))) == 1 else f'balances disagree: {sums}'


def pgbench_times(work):
    """Returns the latency of each transaction since the last call, in microseconds."""
    times = []
    for log in pathlib.Path(work).glob('pgbench_log.*'):
        times += [int(line.split()[2]) for line in log.read_text().splitlines()]
        log.unlink()
    return times


def pgbench_rates(text):
    return [float(value) for value in re.findall(r'^tps = ([\d.]+)', text, re.M)]


def pgbench_latency(work, text):
    times = sorted(pgbench_times(work))
    rates = pgbench_rates(text)
    return times[len(times) * 99 // 100] / 1000 if times else 0.0, sum(rates) / len(rates)


PG_CONNECTION = ['-h', '127.0.0.1', '-p', '{port}', '-U', 'bench']
PG_SUMS = ("select 'sums ' || (select sum(abalance) from pgbench_accounts) || '|' || "
           "(select sum(tbalance) from pgbench_tellers) || '|' || (select sum(bbalance) from pgbench_branches) "
           "|| '|' || (select sum(delta) from pgbench_history)")

SERVERS = [
    Server('PostgreSQL', [POSTGRES + 'postgres', '-D', '{work}/data', '-p', '{port}', '-c',
                          'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories={work}', '-c', 'fsync=off', '-c',
                          'max_connections=20'],
           packages='postgresql', as_unprivileged=True, forks=True,
           prepare=[[POSTGRES + 'initdb', '-D', '{work}/data', '-U', 'bench', '-A', 'trust', '-N']],
           load=[[POSTGRES + 'pgbench', '-i', '-q', '-s', '1', *PG_CONNECTION, 'postgres'],
                 [POSTGRES + 'pgbench', '-n', '-c', '4', '-j', '1', '-T', '3', '-l', *PG_CONNECTION, 'postgres'],
                 [POSTGRES + 'pgbench', '-n', '-S', '-M', 'prepared', '-c', '4', '-j', '1', '-T', '2', *PG_CONNECTION,
                  'postgres'],
                 [POSTGRES + 'psql', '-A', '-t', *PG_CONNECTION, '-c', PG_SUMS, 'postgres']],
           ready=[POSTGRES + 'pg_isready', '-q', *PG_CONNECTION], check=pgbench_failed, latency=pgbench_latency,
           stop_signal='SIGINT'),
    Server('redis', ['redis-server', '--bind', '127.0.0.1', '--port', '{port}', '--save', '', '--appendonly', 'no',
                     '--dir', '{work}'], packages='redis-server redis-tools',
           load=[['redis-benchmark', '-h', '127.0.0.1', '-p', '{port}', '-n', '15000', '-c', '20', '-t',
                  'set,get,incr,lpush,lrange_100,mset', '--csv']],
           latency=redis_latency, ask=ask_redis),
    Server('nginx', ['nginx', '-p', '{work}', '-c', '{work}/nginx.conf'], packages='nginx-light apache2-utils',
           files={'nginx.conf': NGINX_CONFIGURATION,
                  'pages/page.txt': ''.join(f'{i} line {i * i % 97}\n' for i in range(4000))},
           load=[['ab', '-q', '-n', '6000', '-c', '20', 'http://127.0.0.1:{port}/page.txt'],
                 ['ab', '-q', '-n', '3000', '-c', '20', '-H', 'Accept-Encoding: gzip',
                  'http://127.0.0.1:{port}/page.txt']],
           check=nginx_failed, latency=ab_latency, ask=ask_nginx, forks=True),
    Server('memcached', ['memcached', '-l', '127.0.0.1', '-p', '{port}', '-U', '0', '-t', '4', '-u', 'nobody'],
           packages='memcached', ask=ask_memcached),
    Server('memcached, 4 clients', ['memcached', '-l', '127.0.0.1', '-p', '{port}', '-U', '0', '-t', '4', '-u', 'nobody'],
           packages='memcached', ask=ask_memcached_at_once),
    # All its threads have one alternate stack.
    Server('varnish', ['varnishd', '-F', '-j', 'none', '-n', '{work}/state', '-a', '127.0.0.1:{port}', '-f', '{work}/work.vcl', '-s',
                       'malloc,16m'], packages='varnish apache2-utils', forks=True,
           files={'work.vcl': 'vcl 4.1;\nbackend default none;\nsub vcl_recv { return (synth(200, "answer")); }\n'},
           load=[['ab', '-l', '-q', '-n', '4000', '-c', '8', 'http://127.0.0.1:{port}/']], check=nginx_failed, latency=ab_latency),
]

# soak.py kills this one at any moment.
KILLED = small('steady', 1000, suffix=', killed')
SMALL.append(KILLED)
