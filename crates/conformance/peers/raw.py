#!/usr/bin/env python3
"""Any Kafka message at any version from plain dicts, driven by schema.txt; no client library in between.

    from raw import Connection, encode, decode, batch
    c = Connection('127.0.0.1', 9092)
    c.call('ApiVersions', 3, {'client_software_name': 'raw', 'client_software_version': '1'})
    c.send(...), c.receive(...), c.write(b'...'), c.closed()      for half-broken conversations
    batch([(key, value, [(header, value)]), ..], base_offset=0, ..) -> record batch bytes

Fields left out take their defaults. `python3 raw.py` checks itself against core/wire/tests/vectors/wire.jsonl.
"""
import json, os, re, socket, struct, sys, time, zlib

HERE = os.path.dirname(os.path.realpath(__file__))


class Field:
    def __init__(self, line):
        self.depth = (len(line) - len(line.lstrip())) // 2
        words = line.split()
        self.name, self.type, self.lo, self.hi = words[0], words[1], *bounds(words[2])
        extra = dict(w.split('=', 1) for w in words[3:] if '=' in w)
        self.tag = int(extra['tag']) if 'tag' in extra else None
        self.null = bounds(extra['nullable']) if 'nullable' in extra else None
        self.default = extra.get('default')
        self.plain = 'length' in extra
        self.fields = []

    def nullable(self, v):
        return self.null is not None and self.null[0] <= v <= self.null[1]


def bounds(s):
    if s == 'none':
        return (1, 0)
    if s.endswith('+'):
        return (int(s[:-1]), 999)
    a, _, b = s.partition('-')
    return (int(a), int(b or a))


class Message:
    def __init__(self, line):
        self.name = line.split()[0]
        attr = dict(w.split('=', 1) for w in line.split()[1:])
        self.key = int(attr['key'])
        self.lo, self.hi = map(int, attr['versions'].split('-'))
        self.flex = bounds(attr['flexible'])
        self.fields = []

    def flexible(self, v):
        return self.flex[0] <= v <= self.flex[1]


MESSAGES = {}
_m = None
for _line in open(os.path.join(HERE, 'schema.txt')):
    if not _line.strip() or _line[0] == '#':
        continue
    if _line[0] != ' ':
        _m = Message(_line)
        MESSAGES[_m.name] = _m
        _stack = [_m]
    else:
        _f = Field(_line.rstrip())
        del _stack[_f.depth:]
        _stack[-1].fields.append(_f)
        _stack.append(_f)

FIXED = {'int8': '>b', 'int16': '>h', 'uint16': '>H', 'int32': '>i', 'uint32': '>I', 'int64': '>q', 'float64': '>d', 'boolean': '>?'}


def uvarint(n):
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def varint(n):
    return uvarint((n << 1) ^ (n >> 63) if n >= 0 else ((n << 1) ^ -1))


def _default(f):
    if f.default == 'null':
        return None
    if f.type.startswith('[]'):
        return []
    if f.type == 'struct':
        return {g.name: _default(g) for g in f.fields}
    if f.type in ('bytes', 'records'):
        return b''
    if f.type == 'uuid':
        return bytes(16)
    if f.type == 'string':
        return f.default or ''
    if f.type == 'boolean':
        return f.default == 'true'
    return float(f.default or 0) if f.type == 'float64' else int(f.default or 0)


def _length(n, flex, wide):
    if flex:
        return uvarint(0 if n is None else n + 1)
    return struct.pack('>i' if wide else '>h', -1 if n is None else n)


def _value(f, t, v, flex, x):
    if t in FIXED:
        return struct.pack(FIXED[t], x)
    if t == 'uuid':
        return bytes.fromhex(x) if isinstance(x, str) else x
    if t == 'struct':
        head = b''
        if f.nullable(v) or (f.null is not None and f.nullable(v)):
            if x is None:
                return b'\xff'
            head = b'\x01'
        return head + _struct(f.fields, v, flex, x)
    if t.startswith('[]'):
        if x is None:
            return _length(None, flex, True)
        inner = t[2:]
        return _length(len(x), flex, True) + b''.join(_struct(f.fields, v, flex, e) if inner == 'struct' else _scalar(inner, flex, e) for e in x)
    return _scalar(t, flex and not f.plain, x)


def _scalar(t, flex, x):
    if t in FIXED:
        return struct.pack(FIXED[t], x)
    if t == 'uuid':
        return bytes.fromhex(x) if isinstance(x, str) else x
    if x is None:
        return _length(None, flex, t != 'string')
    if t == 'string':
        b = x.encode() if isinstance(x, str) else x
    else:
        b = bytes.fromhex(x) if isinstance(x, str) else x
    return _length(len(b), flex, t != 'string') + b


def _struct(fields, v, flex, x):
    out, tags = b'', []
    for f in fields:
        if not f.lo <= v <= f.hi:
            continue
        value = x.get(f.name, _default(f))
        if f.tag is None:
            out += _value(f, f.type, v, flex, value)
        else:
            full = _value(f, f.type, v, flex, value)
            if full != _value(f, f.type, v, flex, _default(f)):
                tags.append((f.tag, full))
    if flex:
        tags += x.get('_tags', [])
        out += uvarint(len(tags)) + b''.join(uvarint(t) + uvarint(len(b)) + b for t, b in sorted(tags))
    return out


def encode(name, version, value):
    m = MESSAGES[name]
    return _struct(m.fields, version, m.flexible(version), value)


class Reader:
    def __init__(self, b):
        self.b, self.p = b, 0

    def take(self, n):
        if n < 0 or self.p + n > len(self.b):
            raise ValueError(f'{n} bytes wanted at {self.p} of {len(self.b)}')
        self.p += n
        return self.b[self.p - n:self.p]

    def fixed(self, code):
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def uvarint(self):
        n = shift = 0
        while True:
            c = self.take(1)[0]
            n |= (c & 127) << shift
            shift += 7
            if c < 128:
                return n

    def varint(self):
        n = self.uvarint()
        return (n >> 1) ^ -(n & 1)

    def length(self, flex, wide):
        if flex:
            n = self.uvarint()
            return None if n == 0 else n - 1
        n = self.fixed('>i' if wide else '>h')
        return None if n < 0 else n

    def value(self, f, t, v, flex):
        if t == 'struct':
            if f.nullable(v) and self.take(1) == b'\xff':
                return None
            return self.struct(f.fields, v, flex)
        if t.startswith('[]'):
            n = self.length(flex, True)
            return None if n is None else [self.struct(f.fields, v, flex) if t == '[]struct' else self.scalar(t[2:], flex) for _ in range(n)]
        return self.scalar(t, flex and not f.plain)

    def scalar(self, t, flex):
        if t in FIXED:
            return self.fixed(FIXED[t])
        if t == 'uuid':
            return self.take(16).hex()
        n = self.length(flex, t != 'string')
        if n is None:
            return None
        b = self.take(n)
        return b.decode() if t == 'string' else b

    def struct(self, fields, v, flex):
        out = {}
        for f in fields:
            if not f.lo <= v <= f.hi:
                continue
            out[f.name] = _default(f) if f.tag is not None else self.value(f, f.type, v, flex)
        if flex:
            last = -1
            for _ in range(self.uvarint()):
                tag, n = self.uvarint(), self.uvarint()
                if tag <= last:
                    raise ValueError('tags out of order')
                last = tag
                end = self.p + n
                f = next((f for f in fields if f.tag == tag and f.lo <= v <= f.hi), None)
                if f:
                    out[f.name] = self.value(f, f.type, v, flex)
                    out.setdefault('_present', []).append(f.name)
                    if self.p != end:
                        raise ValueError(f'tag {tag} has {n} bytes, {self.p - end + n} read')
                else:
                    out.setdefault('_tags', []).append((tag, self.take(n)))
        return out


def decode(name, version, data, whole=True):
    m = MESSAGES[name]
    r = Reader(data)
    out = r.struct(m.fields, version, m.flexible(version))
    if whole and r.p != len(data):
        raise ValueError(f'{len(data) - r.p} bytes left after {name} v{version}')
    return out


class Connection:
    def __init__(self, host='127.0.0.1', port=9092, client_id='raw', timeout=15):
        self.s = socket.create_connection((host, port), timeout)
        self.client_id, self.correlation, self.pending = client_id, 0, {}

    def frame(self, api, version, body, client_id='*', key=None, correlation=None):
        m = MESSAGES[api + 'Request']
        cid = self.client_id if client_id == '*' else client_id
        head = struct.pack('>hhi', m.key if key is None else key, version, self.correlation if correlation is None else correlation)
        head += struct.pack('>h', -1) if cid is None else struct.pack('>h', len(cid.encode())) + cid.encode()
        if m.flexible(version):
            head += b'\0'
        return head + (encode(api + 'Request', version, body) if isinstance(body, dict) else body)

    def write(self, data):
        self.s.sendall(data)

    def send(self, api, version, body, **k):
        self.correlation += 1
        f = self.frame(api, version, body, **k)
        self.write(struct.pack('>i', len(f)) + f)
        self.pending[self.correlation] = (api, version)
        return self.correlation

    def read(self, n):
        out = b''
        while len(out) < n:
            b = self.s.recv(n - len(out))
            if not b:
                raise ConnectionError('closed')
            out += b
        return out

    def receive_bytes(self):
        return self.read(struct.unpack('>i', self.read(4))[0])

    def receive(self, version=None):
        data = self.receive_bytes()
        correlation = struct.unpack('>i', data[:4])[0]
        api, sent = self.pending.pop(correlation)
        version = sent if version is None else version
        m = MESSAGES[api + 'Response']
        start = 4
        if m.flexible(version) and api != 'ApiVersions':
            if data[4] != 0:
                raise ValueError('response header carries tags')
            start = 5
        return decode(api + 'Response', version, data[start:])

    def call(self, api, version, body, **k):
        self.send(api, version, body, **k)
        return self.receive()

    def closed(self, seconds=5):
        """True when the broker closes the connection within the time, without sending anything."""
        self.s.settimeout(seconds)
        try:
            return self.s.recv(1) == b''
        except ConnectionResetError:
            return True
        except socket.timeout:
            return False

    def close(self):
        self.s.close()


_table = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = _c >> 1 ^ (0x82F63B78 if _c & 1 else 0)
    _table.append(_c)


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = _table[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xFFFFFFFF


def batch(records, base_offset=0, timestamp=None, producer_id=-1, producer_epoch=-1, base_sequence=-1, attributes=0, leader_epoch=-1, timestamps=None, max_timestamp=None, base_timestamp=None, body=None, count=None, last_delta=None, magic=2, crc=None):
    """A record batch, version 2. Every header field can be set wrongly on purpose."""
    now = int(time.time() * 1000) if timestamp is None else timestamp
    stamps = timestamps or [now] * len(records)
    base = stamps[0] if base_timestamp is None and stamps else (base_timestamp if base_timestamp is not None else now)
    out = b''
    for i, (key, value, *headers) in enumerate(records):
        r = b'\0' + varint(stamps[i] - base) + varint(i)
        for x in (key, value):
            r += varint(-1) if x is None else varint(len(x)) + x
        hs = headers[0] if headers else []
        r += varint(len(hs)) + b''.join(varint(len(k)) + k + (varint(-1) if v is None else varint(len(v)) + v) for k, v in hs)
        out += varint(len(r)) + r
    out = out if body is None else body
    n = len(records) if count is None else count
    tail = struct.pack('>hiqqqhii', attributes, n - 1 if last_delta is None else last_delta, base, (max(stamps) if stamps else base) if max_timestamp is None else max_timestamp, producer_id, producer_epoch, base_sequence, n) + out
    return struct.pack('>qiibI', base_offset, len(tail) + 9, leader_epoch, magic, crc32c(tail) if crc is None else crc) + tail


def records(data):
    """What an uncompressed stretch of v2 batches holds: [(offset, timestamp, key, value, headers)], and the batches' header fields."""
    out, heads, p = [], [], 0
    while p + 61 <= len(data):
        base, size, epoch, magic, crc = struct.unpack('>qiibI', data[p:p + 21])
        if p + 12 + size > len(data):
            break
        attributes, last, first_ts, max_ts, pid, pepoch, seq, n = struct.unpack('>hiqqqhii', data[p + 21:p + 61])
        heads.append(dict(base_offset=base, leader_epoch=epoch, magic=magic, attributes=attributes, last_offset_delta=last, base_timestamp=first_ts, max_timestamp=max_ts, producer_id=pid, producer_epoch=pepoch, base_sequence=seq, count=n, crc_ok=crc32c(data[p + 21:p + 12 + size]) == crc))
        if attributes & 7 == 0:
            r = Reader(data[p + 61:p + 12 + size])
            for _ in range(n):
                r.varint()
                r.take(1)
                ts, off = r.varint(), r.varint()
                kv = []
                for _ in range(2):
                    k = r.varint()
                    kv.append(None if k < 0 else r.take(k))
                hs = []
                for _ in range(r.varint()):
                    name = r.take(r.varint())
                    k = r.varint()
                    hs.append((name, None if k < 0 else r.take(k)))
                out.append((base + off, max_ts if attributes & 8 else first_ts + ts, *kv, hs))
        p += 12 + size
    return out, heads


def _same(want, got):
    if isinstance(want, dict):
        return all(_same(v, got[k]) for k, v in want.items() if not k.startswith('_'))
    if isinstance(want, list):
        return len(want) == len(got) and all(map(_same, want, got))
    return got.hex() == want if isinstance(got, bytes) else got == want


if __name__ == '__main__':
    n = bad = 0
    for line in open(os.path.join(HERE, '..', '..', '..', 'core', 'wire', 'tests', 'vectors', 'wire.jsonl')):
        d = json.loads(line)
        n += 1
        b = bytes.fromhex(d['hex'])
        try:
            ok = encode(d['message'], d['version'], d['value']) == b and _same(d['value'], decode(d['message'], d['version'], b))
        except Exception as e:
            ok = False
            print(d['message'], d['version'], repr(e))
        if not ok:
            bad += 1
            if bad < 12:
                print('differs:', d['message'], d['version'], encode(d['message'], d['version'], d['value']).hex()[:200], d['hex'][:200])
    print(f'{n - bad} passed, {bad} failed')
    sys.exit(bool(bad))
