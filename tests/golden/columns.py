"""The values of a column, read as lib/segment/FORMAT.md says: reader.py has the rest."""
import ctypes
import ctypes.util
import struct

M64 = (1 << 64) - 1
PAGE_BYTES_MAX = 16 << 20
CELL_BYTES_MAX = 1 << 20
HEAP_BYTES_MAX = 15 << 20
NUMBERS = {  # type: (raw width, least, greatest)
    'boolean': (1, 0, 1), 'tinyint': (1, -1 << 7, (1 << 7) - 1),
    'smallint': (2, -1 << 15, (1 << 15) - 1), 'int': (4, -1 << 31, (1 << 31) - 1),
    'float': (4, 0, (1 << 32) - 1),
    **dict.fromkeys(('bigint', 'timestamp', 'date', 'time', 'double'),
                    (8, -1 << 63, (1 << 63) - 1))}
FORMAT_MAX = 2
FORMAT_OF_DICTIONARIES = 2
DICTIONARIES = {}  # the store's, by number
SEEN = set()  # forms of the format that were read


class Damage(Exception):
    """The bytes are not of format 1."""


class TooNew(Exception):
    """The bytes are of a later format."""


def need(condition, why):
    if not condition:
        raise Damage(why)


def library(name):
    path = ctypes.util.find_library(name)
    need(path, f'lib{name} is not installed')
    return ctypes.CDLL(path)


def xxh3(data, lib=[]):
    if not lib:
        lib.append(library('xxhash'))
        lib[0].XXH3_64bits.restype = ctypes.c_uint64
        lib[0].XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return lib[0].XXH3_64bits(data, len(data))


def unzstd(frame, size, lib=[]):
    if not lib:
        lib.append(library('zstd'))
        for name in ('ZSTD_getFrameContentSize', 'ZSTD_findFrameCompressedSize', 'ZSTD_decompress'):
            getattr(lib[0], name).restype = ctypes.c_uint64
        lib[0].ZSTD_getFrameContentSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib[0].ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib[0].ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t] * 2
    need(frame[:4] == b'\x28\xb5\x2f\xfd', 'magic number of a frame')
    need(lib[0].ZSTD_getFrameContentSize(frame, len(frame)) == size, 'content size of a frame')
    need(lib[0].ZSTD_findFrameCompressedSize(frame, len(frame)) == len(frame), 'size of a frame')
    out = ctypes.create_string_buffer(max(size, 1))
    need(lib[0].ZSTD_decompress(out, size, frame, len(frame)) == size, 'frame')
    return out.raw[:size]


def untrained(frame, size, dictionary, lib=[]):
    """Decompresses a frame that was made with a trained dictionary."""
    if not lib:
        lib.append(library('zstd'))
        lib[0].ZSTD_getDictID_fromFrame.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib[0].ZSTD_getFrameContentSize.restype = ctypes.c_uint64
        lib[0].ZSTD_getFrameContentSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib[0].ZSTD_findFrameCompressedSize.restype = ctypes.c_uint64
        lib[0].ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib[0].ZSTD_createDCtx.restype = ctypes.c_void_p
        lib[0].ZSTD_freeDCtx.argtypes = [ctypes.c_void_p]
        lib[0].ZSTD_createDDict.restype = ctypes.c_void_p
        lib[0].ZSTD_createDDict.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib[0].ZSTD_freeDDict.argtypes = [ctypes.c_void_p]
        lib[0].ZSTD_decompress_usingDDict.restype = ctypes.c_uint64
        lib[0].ZSTD_decompress_usingDDict.argtypes = (
            [ctypes.c_void_p] + [ctypes.c_char_p, ctypes.c_size_t] * 2 + [ctypes.c_void_p])
    need(frame[:4] == b'\x28\xb5\x2f\xfd', 'magic number of a frame')
    need(lib[0].ZSTD_getDictID_fromFrame(frame, len(frame)) == 0, 'dictionary of a frame')
    need(lib[0].ZSTD_getFrameContentSize(frame, len(frame)) == size, 'content size of a frame')
    need(lib[0].ZSTD_findFrameCompressedSize(frame, len(frame)) == len(frame), 'size of a frame')
    out = ctypes.create_string_buffer(max(size, 1))
    # With its other call libzstd refuses damaged frames that reach into the dictionary's tables,
    # with this one it does not: FORMAT.md, Trained dictionaries.
    context = lib[0].ZSTD_createDCtx()
    tables = lib[0].ZSTD_createDDict(dictionary, len(dictionary))
    got = lib[0].ZSTD_decompress_usingDDict(context, out, size, frame, len(frame), tables)
    lib[0].ZSTD_freeDDict(tables)
    lib[0].ZSTD_freeDCtx(context)
    need(got == size, 'frame')
    return out.raw[:size]


def signed64(n):
    n &= M64
    return n - (1 << 64) if n >> 63 else n


# --- elements


class Bytes:
    def __init__(self, data, form=1):
        self.data, self.at, self.format = data, 0, form

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        need(count <= self.left(), 'past the end')
        self.at += count
        return self.data[self.at - count:self.at]

    def u8(self):
        return self.take(1)[0]

    def little(self, size):
        return int.from_bytes(self.take(size), 'little')

    def varint(self, greatest=M64):
        n = shift = 0
        while True:
            byte = self.u8()
            n |= (byte & 127) << shift
            need(n <= M64 and shift < 70, 'varint')
            if byte < 128:
                need(n <= greatest, 'range of a varint')
                return n
            shift += 7

    def signed(self):
        n = self.varint()
        return -(n + 1 >> 1) if n & 1 else n >> 1

    def end(self):
        need(self.left() == 0, 'bytes behind the end')


def envelope(data, kind):
    need(9 <= len(data) <= PAGE_BYTES_MAX, 'size')
    need(xxh3(data[:-8]) == int.from_bytes(data[-8:], 'little'), 'checksum')
    need(data[0] >> 4 == kind, 'tag')
    need(data[0] & 15 != 0, 'format 0')
    if data[0] & 15 > FORMAT_MAX:
        raise TooNew(data[0] & 15)
    need(kind != 0xC or data[0] & 15 >= FORMAT_OF_DICTIONARIES, 'dictionary of format 1')
    return Bytes(data[1:-8], data[0] & 15)


# --- integer streams


def stream(b, n, flat=False):
    descriptor = b.u8()
    order = descriptor & 3
    if order == 3:
        need(descriptor == 3 and not flat, 'runs')
        SEEN.add('runs')
        count = b.varint(n)
        need(count >= 1, 'run count')
        lengths, values = stream(b, count, True), stream(b, count, True)
        need(min(lengths) >= 1 and sum(lengths) == n, 'run lengths')
        return [v for length, v in zip(lengths, values) for _ in range(length)]
    m = n - order
    need(m >= 1, 'order')
    first = b.signed() if order >= 1 else 0
    step = b.signed() if order == 2 else 0
    residuals = read_residuals(b, m, descriptor, flat)
    SEEN.add(f'order {order}')
    if order == 0:
        return residuals
    out = [first]
    if order == 2:
        out.append(signed64(first + step))
    for r in residuals:
        step = step + r if order == 2 else r
        out.append(signed64(out[-1] + step))
    return out


def read_residuals(b, m, descriptor, flat):
    base = b.signed()
    width = descriptor >> 4
    divisor = 1
    if descriptor & 4:
        need(width > 0, 'divisor without a width')
        divisor = b.varint()
        need(divisor >= 2, 'divisor')
        SEEN.add('divisor')
    if width == 15:
        width = b.u8()
        need(15 <= width <= 64, 'width')
        SEEN.add('width 64' if width == 64 else 'width apart')
    SEEN.add('width' if width else 'constant')
    packed = int.from_bytes(b.take((m * width + 7) // 8), 'little')
    need(packed >> (m * width) == 0, 'spare bits')
    mask = (1 << width) - 1
    residuals = [signed64(base + divisor * (packed >> i * width & mask)) for i in range(m)]
    if descriptor & 8:
        need(not flat, 'patches')
        SEEN.add(f'patches of order {descriptor & 3}')
        SEEN.add('patches with a width' if width else 'patches without a width')
        count = b.varint(m)
        need(count >= 1, 'patch count')
        positions, patches = stream(b, count, True), stream(b, count, True)
        for before, position, patch in zip([-1] + positions, positions, patches):
            need(before < position < m, 'patch position')
            residuals[position] = patch
    return residuals


# --- numbers


def double_bits(value):
    return struct.unpack('<q', struct.pack('<d', value))[0]


def to_float(value):
    """Rounded to a float, as a double."""
    try:
        return struct.unpack('<f', struct.pack('<f', value))[0]
    except OverflowError:
        return float('inf') if value > 0 else float('-inf')


def float_bits(value):
    return struct.unpack('<I', struct.pack('<f', value))[0]


def unordered(n, bits):
    """Bits in order, as they were."""
    if n < 0:
        n ^= (1 << bits - 1) - 1
    return n


def as_printed(f):
    w = next((w for w in range(13) if abs(f) < 10.0**w), 12)
    p = 12 - w
    if w == 0:
        while p < 22 and abs(f) * 10.0**p < 1e11:
            p += 1
    scaled = f * 10.0**p
    if not abs(scaled) < 2.0**53:
        return f
    return float(int(scaled + (0.5 if scaled >= 0 else -0.5))) / 10.0**p


def decimals(b, n, encoding, kind):
    k = b.u8()
    SEEN.add(f'encoding {encoding} of {kind}' + (' with exceptions' if k & 128 else ''))
    positions = raws = []
    if k & 128:
        count = b.varint(n)
        need(count >= 1, 'exception count')
        positions, raws = stream(b, count), stream(b, count)
    k &= 127
    need(k <= 22 and (k == 0 or encoding in (2, 3, 11)), 'exponent')
    out = []
    for d in stream(b, n):
        if encoding == 4:
            need(-1 << 31 <= d < 1 << 31, 'bits of a float')
            bits = unordered(d, 32) & 0xffffffff
            if kind == 'double':
                bits = double_bits(struct.unpack('<f', struct.pack('<I', bits))[0])
        elif encoding == 5:
            bits = unordered(d, 64)
        else:
            value = float(d) / 10.0**k
            if encoding in (3, 11):
                value = to_float(value)
            if encoding == 11:
                value = as_printed(value)
            bits = float_bits(value) if kind == 'float' else double_bits(value)
        out.append(bits)
    for before, position, raw in zip([-1] + positions, positions, raws):
        need(before < position < n, 'exception position')
        out[position] = raw
    return out


def plain(b, n, encoding, kind):
    allowed = {'double': (1, 2, 3, 4, 5, 11), 'float': (1, 3, 4)}.get(kind, (1,))
    need(encoding in allowed, f'encoding {encoding} of {kind}')
    if encoding == 1:
        SEEN.add(f'encoding 1 of {kind}')
        return stream(b, n)
    return decimals(b, n, encoding, kind)


def numbers(b, n, encoding, kind):
    width, least, greatest = NUMBERS[kind]
    if encoding == 6:
        SEEN.add(f'encoding 6 of {kind}')
        raw = unzstd(b.take(b.left()), n * width)
        out = [int.from_bytes(raw[i::n], 'little', signed=kind != 'float') for i in range(n)]
    elif encoding == 10:
        count = b.varint(n)
        need(count >= 1, 'entry count')
        inner = b.u8()
        SEEN.add(f'encoding 10 of {kind}, entries in {inner}')
        entries = plain(b, count, inner, kind)
        out = [pick(entries, code) for code in stream(b, n)]
    else:
        out = plain(b, n, encoding, kind)
    need(least <= min(out) and max(out) <= greatest, f'value of a {kind}')
    return out


def pick(entries, code):
    need(0 <= code < len(entries), 'code')
    return entries[code]


# --- bytes


def blob(b, m):
    lengths = stream(b, m)
    need(min(lengths) >= 0 and max(lengths) <= CELL_BYTES_MAX, 'cell length')
    need(sum(lengths) <= HEAP_BYTES_MAX, 'cell lengths')
    form = b.u8()
    need(form <= (2 if b.format >= FORMAT_OF_DICTIONARIES else 1), 'form of a blob')
    SEEN.add(f'blob {form}')
    if form == 2:
        number = b.varint()
        frame = b.take(b.varint(PAGE_BYTES_MAX))
        need(number in DICTIONARIES, 'dictionary')
        heap = untrained(frame, sum(lengths), DICTIONARIES[number])
    elif form == 1:
        heap = unzstd(b.take(b.varint(PAGE_BYTES_MAX)), sum(lengths))
    else:
        heap = b.take(sum(lengths))
    cells = Bytes(heap)
    return [cells.take(length) for length in lengths]


def texts(b, n, encoding):
    SEEN.add(f'encoding {encoding} of bytes')
    if encoding == 7:
        return blob(b, n)
    if encoding == 8:
        count = b.varint(n)
        need(count >= 1, 'entry count')
        entries = blob(b, count)
        return [pick(entries, code) for code in stream(b, n)]
    need(encoding == 9, f'encoding {encoding} of bytes')
    out = []
    for high, low in zip(stream(b, n), stream(b, n)):
        high &= M64
        high = high << 32 & M64 | (high >> 32 & 0xffff) << 16 | high >> 48
        out.append(struct.pack('>QQ', high, low & M64))
    return out
