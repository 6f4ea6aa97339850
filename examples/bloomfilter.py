"""Ask a filter of the PostgreSQL extension bloomfilter without the database.

    SELECT seen::bytea FROM filters WHERE name = 'hosts'

gives the bytes; then

    filter = Filter(data)
    "www.debian.org" in filter, 7 in filter

Reads values of the type bloom, of all layouts but those of other systems
(layout 9: use the library of that system), and changes none.  An element is an
int (smallint, integer, bigint), a str (text), bytes (bytea) or a bool (boolean);
one of another type than the filter's is an error.  A "no" is certain.

Needs the module xxhash (python3-xxhash).  The bytes: docs/dev/format.md.
"""
import struct

import xxhash

EMPTY, EXPLICIT, BLOCK512, BLOCK512X2, CLASSIC, _, SMALL, COUNTING, COUNTINGX2 = range(9)

HEADER = 60         # bytes; of a compact image 39, and of a layer's descriptor 64
COMPACT_HEADER = 39
DESCRIPTOR = 64
CHECKSUM = 8

WORD = 2 ** 64 - 1  # all arithmetic is modulo 2^64
A = 0x9E3779B97F4A7C15
B = 0xBF58476D1CE4E5B9


def remix(word):
    return (word ^ word >> 32) * B & WORD


def mulhi(a, b):
    return a * b >> 64


def block_bits(word, k):
    """The bits of an element in its block of 512."""
    lanes = [*range(8)] * (k // 8) + [((word >> 61) + j) % 8 for j in range(k % 8)]
    for i, lane in enumerate(lanes):
        if i > 0 and i % 8 == 0:
            word = remix(word)
        yield 64 * lane + (word >> 13 + 6 * lane & 63)


def layer_bits(layout, size, k, h):
    """The bits of a hash in a layer of that size: blocks, or bits."""
    if layout in (CLASSIC, SMALL):
        step = remix(h * A & WORD) | 1
        for _ in range(k):
            yield mulhi(h, size)
            h = h + step & WORD
            step = step * A & WORD
        return
    first = mulhi(h, size)
    for bit in block_bits(h * A & WORD, k):
        yield 512 * first + bit
    if layout in (BLOCK512X2, COUNTINGX2):
        other = remix(h)
        second = mulhi(other, size - 1)
        second += second >= first
        for bit in block_bits(other * A & WORD, k):
            yield 512 * second + bit


def canonical(element):
    """The class of an element, and its bytes."""
    if isinstance(element, bool):
        return b"b", struct.pack("<?", element)
    if isinstance(element, int):
        return b"i", struct.pack("<q", element)
    if isinstance(element, str):
        return b"t", element.encode()
    if isinstance(element, bytes):
        return b"y", element
    raise TypeError(f"no elements of type {type(element).__name__}")


class Filter:
    def __init__(self, data):
        data = bytes(data)
        image = self.image = data[:-CHECKSUM]
        if (len(image) < COMPACT_HEADER or image[:3] != b"blm"
                or xxhash.xxh3_64_intdigest(image) != int.from_bytes(data[-CHECKSUM:], "little")):
            raise ValueError("no bloom filter, or a damaged one")
        if image[3] != 1 or image[4] > COUNTINGX2:
            raise ValueError(f"version {image[3]}, layout {image[4]}: not read here")
        self.layout, layers = image[4], image[7]
        element_class, self.seed, self.error_rate = struct.unpack_from("<8sQd", image, 8)
        self.element_class = element_class.rstrip(b"\0")
        self.layers = []        # layout, k, size, and where the bits begin
        self.hashes = set()
        if self.layout == SMALL:
            size, k = struct.unpack_from("<HxxB", image, 34)
            self.layers = [(SMALL, k, 8 * size, COMPACT_HEADER)]
            return
        count, length = struct.unpack_from("<QQ", image, 40)
        if length != len(image):
            raise ValueError("wrong length")
        if self.layout == EXPLICIT:
            self.hashes = {*struct.unpack_from(f"<{count}Q", image, HEADER)}
        for at in range(HEADER, HEADER + DESCRIPTOR * layers, DESCRIPTOR):
            layout, k, size = struct.unpack_from("<BB6xQ", image, at)
            offset, = struct.unpack_from("<Q", image, at + 48)
            self.layers.append((layout, k, size, offset))

    def _has(self, layer, h):
        layout, k, size, offset = layer
        return all(self.image[offset + bit // 8] >> bit % 8 & 1
                   for bit in layer_bits(layout, size, k, h))

    def contains_hash(self, h):
        """The last layer is the largest, so it is asked first."""
        return h in self.hashes or any(self._has(layer, h) for layer in reversed(self.layers))

    def __contains__(self, element):
        element_class, data = canonical(element)
        if self.element_class == b"":
            return False        # no element was added yet
        if element_class != self.element_class:
            raise TypeError(f"the filter holds elements of class {self.element_class.decode()}, "
                            f"not {element_class.decode()}")
        return self.contains_hash(xxhash.xxh3_64_intdigest(data, self.seed))
