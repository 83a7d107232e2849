/**
 * PackStream, the encoding of Bolt's messages, as far as the tests need it. Whole numbers are bigints, others are floats.
 */

export class Structure {
  readonly tag: number
  readonly fields: readonly unknown[]

  constructor(tag: number, fields: readonly unknown[]) {
    this.tag = tag
    this.fields = fields
  }
}

export function pack(value: unknown): Buffer {
  if (value === null || value === undefined) return Buffer.of(0xc0)
  if (typeof value === "boolean") return Buffer.of(value ? 0xc3 : 0xc2)
  if (typeof value === "bigint") {
    const bytes = Buffer.alloc(9)
    bytes[0] = 0xcb
    bytes.writeBigInt64BE(value, 1)
    return bytes
  }
  if (typeof value === "number") {
    const bytes = Buffer.alloc(9)
    bytes[0] = 0xc1
    bytes.writeDoubleBE(value, 1)
    return bytes
  }
  if (typeof value === "string") {
    const text = Buffer.from(value)
    return Buffer.concat([sized(0xd2, text.length), text])
  }
  if (value instanceof Uint8Array) return Buffer.concat([sized(0xce, value.length), value])
  if (Array.isArray(value)) return Buffer.concat([sized(0xd6, value.length), ...value.map(pack)])
  if (value instanceof Structure) {
    return Buffer.concat([Buffer.of(0xb0 + value.fields.length, value.tag), ...value.fields.map(pack)])
  }
  const entries = Object.entries(value as object)
  return Buffer.concat([sized(0xda, entries.length), ...entries.flat().map(pack)])
}

function sized(marker: number, size: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes[0] = marker
  bytes.writeUInt32BE(size, 1)
  return bytes
}

export function unpack(bytes: Buffer): unknown {
  let at = 0
  const uint = (size: number) => {
    at += size
    return bytes.readUIntBE(at - size, size)
  }
  const times = <T>(count: number, read: () => T) => Array.from({ length: count }, read)
  const text = (size: number) => {
    at += size
    return bytes.toString("utf8", at - size, at)
  }
  const map = (size: number) => Object.fromEntries(times(size, () => [value() as string, value()]))
  const structure = (size: number) => {
    const tag = uint(1)
    return new Structure(tag, times(size, value))
  }
  function value(): unknown {
    const marker = uint(1)
    const low = marker & 0x0f
    switch (marker & 0xf0) {
      case 0x80:
        return text(low)
      case 0x90:
        return times(low, value)
      case 0xa0:
        return map(low)
      case 0xb0:
        return structure(low)
      case 0xc0:
      case 0xd0:
        return marked(marker)
      default:
        return BigInt(Buffer.of(marker).readInt8(0))
    }
  }
  function marked(marker: number): unknown {
    const size = 2 ** (marker & 3)
    if (marker === 0xc0) return null
    if (marker === 0xc1) {
      at += 8
      return bytes.readDoubleBE(at - 8)
    }
    if (marker === 0xc2 || marker === 0xc3) return marker === 0xc3
    if (marker === 0xcb) {
      at += 8
      return bytes.readBigInt64BE(at - 8)
    }
    if (marker >= 0xc8 && marker <= 0xca) {
      at += size
      return BigInt(bytes.readIntBE(at - size, size))
    }
    if (marker >= 0xd0 && marker <= 0xd2) return text(uint(size))
    if (marker >= 0xd4 && marker <= 0xd6) return times(uint(size), value)
    if (marker >= 0xd8 && marker <= 0xda) return map(uint(size))
    throw new Error(`No such marker: ${marker.toString(16)}.`)
  }
  return value()
}
