// Ask a filter of the PostgreSQL extension bloomfilter without the database.
//
//     SELECT seen::bytea FROM filters WHERE name = 'hosts'
//
// gives the bytes, as a Buffer; then
//
//     const filter = await Filter.read(bytes);
//     filter.contains('www.debian.org'), filter.contains(7)
//
// Reads values of the type bloom, of all layouts but those of other systems
// (layout 9: use the library of that system), and changes none.  An element is a
// whole number or a bigint (smallint, integer, bigint), a string (text), a Buffer
// (bytea) or a boolean; one of another type than the filter's is an error.  A "no"
// is certain.
//
// Needs the module hash-wasm of npm.  The bytes: docs/dev/format.md.
'use strict';
const { createXXHash3 } = require('hash-wasm');

const [EMPTY, EXPLICIT, BLOCK512, BLOCK512X2, CLASSIC, , SMALL, COUNTING, COUNTINGX2] = Array(9).keys();

const HEADER = 60;          // bytes; of a compact image 39, and of a layer's descriptor 64
const COMPACT_HEADER = 39;
const DESCRIPTOR = 64;
const CHECKSUM = 8;

const A = 0x9E3779B97F4A7C15n;
const B = 0xBF58476D1CE4E5B9n;

// All arithmetic is modulo 2^64.
const word = (n) => BigInt.asUintN(64, n);
const remix = (w) => word((w ^ (w >> 32n)) * B);
const mulhi = (a, b) => (a * b) >> 64n;

// The bits of an element in its block of 512.
function blockBits(w, k) {
    const bits = [];
    const start = Number(w >> 61n);
    for (let i = 0; i < k; i++) {
        if (i > 0 && i % 8 === 0) w = remix(w);
        const lane = i < k - k % 8 ? i % 8 : (start + i) % 8;
        bits.push(64 * lane + Number((w >> BigInt(13 + 6 * lane)) & 63n));
    }
    return bits;
}

// The bits of a hash in a layer of that size: blocks, or bits.
function layerBits({ layout, size, k }, h) {
    if (layout === CLASSIC || layout === SMALL) {
        const bits = [];
        let step = remix(word(h * A)) | 1n;
        for (let i = 0; i < k; i++) {
            bits.push(Number(mulhi(h, size)));
            h = word(h + step);
            step = word(step * A);
        }
        return bits;
    }
    const first = mulhi(h, size);
    const bits = blockBits(word(h * A), k).map((bit) => 512 * Number(first) + bit);
    if (layout === BLOCK512X2 || layout === COUNTINGX2) {
        const other = remix(h);
        let second = mulhi(other, size - 1n);
        if (second >= first) second++;
        bits.push(...blockBits(word(other * A), k).map((bit) => 512 * Number(second) + bit));
    }
    return bits;
}

// The class of an element, and its bytes.
function canonical(element) {
    if (typeof element === 'boolean') return ['b', Buffer.from([element ? 1 : 0])];
    if (typeof element === 'string') return ['t', Buffer.from(element, 'utf8')];
    if (Buffer.isBuffer(element)) return ['y', element];
    if (typeof element === 'bigint' || Number.isSafeInteger(element)) {
        const bytes = Buffer.alloc(8);
        bytes.writeBigInt64LE(BigInt(element));
        return ['i', bytes];
    }
    throw new TypeError(`no element: ${element}`);
}

const hash = (hasher, bytes) => BigInt('0x' + hasher.init().update(bytes).digest('hex'));

class Filter {
    // The filter of these bytes, a Buffer.
    static async read(bytes) {
        const image = bytes.subarray(0, Math.max(0, bytes.length - CHECKSUM));
        if (image.length < COMPACT_HEADER || image.toString('latin1', 0, 3) !== 'blm' ||
            hash(await createXXHash3(0, 0), image) !== bytes.readBigUInt64LE(image.length)) {
            throw new Error('no bloom filter, or a damaged one');
        }
        return new Filter(image, await createXXHash3(image.readUInt32LE(16), image.readUInt32LE(20)));
    }

    constructor(image, hasher) {
        if (image[3] !== 1 || image[4] > COUNTINGX2) {
            throw new Error(`version ${image[3]}, layout ${image[4]}: not read here`);
        }
        this.image = image;
        this.hasher = hasher;
        this.layout = image[4];
        this.elementClass = image.toString('latin1', 8, 16).replace(/\0+$/, '');
        this.errorRate = image.readDoubleLE(24);
        this.layers = [];
        this.hashes = new Set();
        if (this.layout === SMALL) {
            const size = BigInt(8 * image.readUInt16LE(34));
            this.layers.push({ layout: SMALL, k: image[38], size, offset: COMPACT_HEADER });
            return;
        }
        if (image.readBigUInt64LE(48) !== BigInt(image.length)) throw new Error('wrong length');
        const count = this.layout === EXPLICIT ? Number(image.readBigUInt64LE(40)) : 0;
        for (let i = 0; i < count; i++) this.hashes.add(image.readBigUInt64LE(HEADER + 8 * i));
        for (let i = 0, at = HEADER; i < image[7]; i++, at += DESCRIPTOR) {
            this.layers.push({
                layout: image[at], k: image[at + 1], size: image.readBigUInt64LE(at + 8),
                offset: Number(image.readBigUInt64LE(at + 48))
            });
        }
    }

    // The last layer is the largest, so it is asked first.
    containsHash(h) {
        return this.hashes.has(h) || [...this.layers].reverse().some((layer) =>
            layerBits(layer, h).every((bit) =>
                (this.image[layer.offset + Math.floor(bit / 8)] >> (bit % 8)) & 1));
    }

    contains(element) {
        const [elementClass, bytes] = canonical(element);
        if (this.elementClass === '') return false;     // no element was added yet
        if (elementClass !== this.elementClass) {
            throw new TypeError(`the filter holds elements of class ${this.elementClass}, not ${elementClass}`);
        }
        return this.containsHash(hash(this.hasher, bytes));
    }
}

module.exports = { Filter, layerBits };
