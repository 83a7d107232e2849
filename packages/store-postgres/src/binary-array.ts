/**
 * Arrays as parameters in PostgreSQL's binary format. The driver writes an array as one text literal and escapes every
 * element, which costs this process and the server more than the elements themselves do.
 *
 * The server refuses an array whose element type is not the declared one: there is one function for each type.
 */

const HEADER = 20
const NULL = -1
const ONE_DIMENSION = 1
const FIRST_INDEX = 1

const OID = { boolean: 16, bigint: 20, int: 23, text: 25, float8: 701 }

export function textArray(list: readonly (string | null)[]): Buffer {
  const sizes = list.map((text) => (text === null ? NULL : Buffer.byteLength(text)))
  const array = start(
    OID.text,
    list.length,
    sizes.reduce((sum, size) => sum + Math.max(size, 0), 0),
  )
  let at = HEADER
  list.forEach((text, i) => {
    at = array.writeInt32BE(sizes[i] as number, at)
    if (text !== null) at += array.write(text, at, "utf8")
  })
  return array
}

export function intArray(list: readonly number[]): Buffer {
  return ofSize(OID.int, list, 4, (array, value, at) => array.writeInt32BE(value, at))
}

/** Of numbers: none here exceeds 2^53. */
export function bigintArray(list: readonly number[]): Buffer {
  return ofSize(OID.bigint, list, 8, (array, value, at) => {
    array.writeInt32BE(Math.floor(value / 0x1_0000_0000), at)
    array.writeUInt32BE(value >>> 0, at + 4)
  })
}

export function floatArray(list: readonly (number | null)[]): Buffer {
  return ofSize(OID.float8, list, 8, (array, value, at) => array.writeDoubleBE(value, at))
}

export function booleanArray(list: readonly boolean[]): Buffer {
  return ofSize(OID.boolean, list, 1, (array, value, at) => array.writeUInt8(value ? 1 : 0, at))
}

function ofSize<T>(
  oid: number,
  list: readonly (T | null)[],
  size: number,
  write: (array: Buffer, value: T, at: number) => void,
): Buffer {
  const nulls = list.reduce((count, value) => (value === null ? count + 1 : count), 0)
  const array = start(oid, list.length, (list.length - nulls) * size)
  let at = HEADER
  for (const value of list) {
    at = array.writeInt32BE(value === null ? NULL : size, at)
    if (value === null) continue
    write(array, value, at)
    at += size
  }
  return array
}

/** With its header. `size` is that of the elements without their lengths. */
function start(oid: number, length: number, size: number): Buffer {
  const array = Buffer.allocUnsafe(HEADER + 4 * length + size)
  array.writeInt32BE(ONE_DIMENSION, 0)
  array.writeInt32BE(0, 4)
  array.writeInt32BE(oid, 8)
  array.writeInt32BE(length, 12)
  array.writeInt32BE(FIRST_INDEX, 16)
  return array
}
