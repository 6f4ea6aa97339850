# What bench/redis.sh runs: sends batches to Redis and to PostgreSQL over their sockets,
# in turn, and prints what they took.  Both get bytes that are ready, and no library is
# between: the client costs both sides the same, about 10 us of what elapses.
import gc
import os
import random
import socket
import statistics
import struct
import sys
import time

(REDIS_SOCKET, REDIS_PID, PG_DIRECTORY, ROUNDS, CAPACITY, THERE, FULL) = sys.argv[1:]
ROUNDS, CAPACITY, THERE, FULL = map(int, (ROUNDS, CAPACITY, THERE, FULL))
TEXT, TEXT_ARRAY = 25, 1009
RECEIVE_BYTES = 1 << 20
ELEMENTS_A_ROUND = 8000     # of all batches of a side
MOST_BATCHES = 200
FILL_BATCH = 5000

fresh = 10 * CAPACITY       # the next element that no side has


def item(n):
    return b'https://www.example.com/catalogue/section/articles/item-%014d' % n


class Redis:
    name = 'redis'

    def __init__(self):
        self.pid = REDIS_PID
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(REDIS_SOCKET)

    def request(self, *words):
        return b'*%d\r\n' % len(words) + b''.join(
            b'$%d\r\n%s\r\n' % (len(word), word) for word in words)

    def send(self, request, lines):
        self.socket.sendall(request)
        answer = b''
        while answer.count(b'\n') < lines:
            answer += self.socket.recv(RECEIVE_BYTES)
        if b'-ERR' in answer:
            sys.exit('Redis: %r' % answer)
        return answer

    def command(self, *words):
        return self.send(self.request(*words), 1)

    def prepare(self, work, elements):
        return self.request(*work, *elements), len(elements) + 1

    def yes(self, answer):
        return answer.count(b':1\r')


class PostgreSQL:
    def __init__(self, query, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(PG_DIRECTORY + '/.s.PGSQL.5432')
        self.pid = 0
        start = struct.pack('>I', 3 << 16) + b'user\0postgres\0database\0bench\0\0'
        for tag, content in self.messages(struct.pack('>I', len(start) + 4) + start):
            if tag == b'K':
                self.pid = struct.unpack('>I', content[:4])[0]
        parse = b'q\0' + query.encode() + b'\0' + struct.pack('>HI', 1, TEXT_ARRAY)
        list(self.messages(self.message(b'P', parse) + self.message(b'S', b'')))

    def message(self, tag, content):
        return tag + struct.pack('>I', len(content) + 4) + content

    def send(self, request):
        """All that comes, up to ReadyForQuery: its five bytes and a state."""
        self.socket.sendall(request)
        answer = b''
        while answer[-6:-1] != b'Z\0\0\0\5':
            answer += self.socket.recv(RECEIVE_BYTES)
        return answer

    def messages(self, request):
        answer = self.send(request)
        while answer:
            size = struct.unpack('>I', answer[1:5])[0]
            if answer[:1] == b'E':
                sys.exit('PostgreSQL: %r' % answer)
            yield answer[:1], answer[5:size + 1]
            answer = answer[size + 1:]

    def prepare(self, work, elements):
        array = struct.pack('>IIIII', 1, 0, TEXT, len(elements), 1) + b''.join(
            struct.pack('>I', len(element)) + element for element in elements)
        bind = b'\0q\0' + struct.pack('>HHHI', 1, 1, 1, len(array)) + array + struct.pack('>HH', 1, 1)
        return (self.message(b'B', bind) + self.message(b'E', b'\0\0\0\0\0') + self.message(b'S', b''),)

    def yes(self, answer):
        if answer[:1] == b'E':
            sys.exit('PostgreSQL: %r' % answer)
        return answer.count(b'\0\0\0\1\1')


def batches(side, work, size, known, seen):
    """Requests, of whose elements the part "seen" is among the first "known"."""
    global fresh
    requests = []
    for _ in range(min(MOST_BATCHES, ELEMENTS_A_ROUND // size)):
        elements = []
        for _ in range(size):
            if random.random() < seen:
                elements.append(item(random.randint(1, known)))
            else:
                elements.append(item(fresh))
                fresh += 1
        requests.append(side.prepare(work, elements))
    return requests


def cpu(pid):
    with open('/proc/%s/schedstat' % pid) as file:
        return int(file.read().split()[0]) / 1000


def pin(pid):
    """All on one core, as one waits for the other: which core a wakeup chooses is chance."""
    os.sched_setaffinity(int(pid), {max(os.sched_getaffinity(0))})


def measure(side, requests):
    """Microseconds of a batch: the median of the elapsed, and the mean of CPU; the part of "yes"."""
    elapsed, answers = [], []
    before = cpu(side.pid)
    for request in requests:
        since = time.perf_counter()
        answer = side.send(*request)
        elapsed.append((time.perf_counter() - since) * 1e6)
        answers.append(answer)
    used = cpu(side.pid) - before
    return statistics.median(elapsed), used / len(requests), sum(map(side.yes, answers))


def compare(title, sides, work, size, known, seen):
    results = {side.name: [] for side in sides}
    for side in sides:
        pin(side.pid)
    for round in range(ROUNDS + 1):
        order = sides if round % 2 else sides[::-1]
        for side in order:
            result = measure(side, batches(side, work, size, known, seen))
            if round > 0:       # the first warms up
                results[side.name].append(result)
    for side in sides:
        mine, base = results[side.name], results['redis']
        line = '%-8s %5d  %-34s' % (title, size, side.name)
        for kind, text in (0, 'elapsed'), (1, 'CPU'):
            ratios = sorted(a[kind] / b[kind] for a, b in zip(mine, base))
            line += '  %s %7.1f us, ratio %5.2f (%.2f to %.2f)' % (
                text, statistics.median(a[kind] for a in mine),
                statistics.median(ratios), ratios[0], ratios[-1])
        print(line + '  yes %d' % sum(a[2] for a in mine), flush=True)


def fill(redis, name, count):
    redis.command(b'BF.RESERVE', name, b'0.01', b'%d' % CAPACITY)
    for first in range(1, count + 1, FILL_BATCH):
        redis.send(*redis.prepare((b'BF.MADD', name), [item(n) for n in range(first, first + FILL_BATCH)]))


gc.disable()
random.seed(1)
pin(0)
redis = Redis()
fill(redis, b'full', FULL)
fill(redis, b'seen', THERE)
sets = [redis,
        PostgreSQL('SELECT visited_add_all($1)', 'rows of a table'),
        PostgreSQL('SELECT seen_add_all($1)', 'small filters')]
for seen, title in (0.5, 'half new'), (1, 'none new'):
    for size in 100, 1000:
        compare(title, sets, (b'BF.MADD', b'seen'), size, THERE, seen)
one = "SELECT %s FROM filters WHERE $1 IS NOT NULL"
asks = [redis,
        PostgreSQL('SELECT $1', 'no table'),
        PostgreSQL(one % "true", 'the row'),
        PostgreSQL(one % "'{%s}'::boolean[]" % ','.join('tf' * 5), 'the row and ten booleans'),
        PostgreSQL(one % 'bloom_contains_each(f, $1)', 'bloom_contains_each')]
for size in 10, 100, 1000:
    compare('ask', asks, (b'BF.MEXISTS', b'full'), size, FULL, 0.5)
