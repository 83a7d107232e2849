/** Keys, and what is sealed with them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { describe, expect, onTestFinished, test } from "vitest"
import { checkKeys, environmentKeys, KeyRing, loadKeys, plainCodec } from "./key-ring.ts"

const key = (id: string, fill: number) => ({ id, key: new Uint8Array(32).fill(fill) })
const [a, b] = [key("a", 1), key("b", 2)]
const damaged = (what: string) => new Error(`damaged: ${what}`)

describe("a sealed value", () => {
  const ring = new KeyRing([a])
  const text = JSON.stringify({ note: "Storks 🕊 \ud800", list: [1, 2] })
  const sealed = ring.seal(text, "record", "run", 7)

  test("is opened where it belongs, has none of its content, and is never sealed alike", () => {
    expect(ring.open(sealed, damaged, "record", "run", 7)).toBe(text)
    expect(sealed).toMatch(/^~1\.a\.[\w+/=]+$/)
    expect(Buffer.from(sealed, "base64").toString("latin1")).not.toContain("note")
    expect(ring.seal(text, "record", "run", 7)).not.toBe(sealed)
    expect(ring.open(ring.seal("", "record", "run"), damaged, "record", "run")).toBe("")
  })

  test.each([
    ["snapshot", "run", 7],
    ["record", "other", 7],
    ["record", "run", 8],
  ] as const)("is damaged as %s of %s at %s", (kind, owner, part) => {
    expect(() => ring.open(sealed, damaged, kind, owner, part)).toThrow(
      /damaged: .*changed, or belongs elsewhere/,
    )
  })

  test("is damaged with any character changed, and cut anywhere", () => {
    // The highest bit of a character is part of the content also in the last one, whose low bits may be padding.
    const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    const start = sealed.lastIndexOf(".") + 1
    for (let i = start; sealed[i] !== "=" && i < sealed.length; i++) {
      const other = base64[base64.indexOf(sealed[i] as string) ^ 32]
      const changed = sealed.slice(0, i) + other + sealed.slice(i + 1)
      expect(() => ring.open(changed, damaged, "record", "run", 7)).toThrow(/damaged/)
      expect(() => ring.open(sealed.slice(0, i), damaged, "record", "run", 7)).toThrow(/damaged/)
    }
    for (const odd of ["~", "~1.", "~1.a", "~2.a.AAAA", "~1.a b.AAAA", "~1..AAAA"])
      expect(() => ring.open(odd, damaged, "record", "run", 7)).toThrow(/damaged/)
  })

  test("needs its key, which is named", () => {
    for (const codec of [new KeyRing([b]), plainCodec]) {
      expect(() => codec.open(sealed, damaged, "record", "run", 7)).toThrow(
        expect.objectContaining({ code: "STORE_KEY_MISSING", message: expect.stringContaining('key "a"') }),
      )
    }
  })

  test("is opened after a rotation; new ones are sealed with the first key, and old plain ones stay readable", () => {
    const rotated = new KeyRing([b, a])
    expect(rotated.open(sealed, damaged, "record", "run", 7)).toBe(text)
    expect([rotated, ring].map(({ prefix }) => sealed.startsWith(prefix))).toEqual([false, true])
    const again = rotated.sealAgain(sealed, damaged, "record", "run", 7)
    expect(new KeyRing([b]).open(again, damaged, "record", "run", 7)).toBe(text)
    expect(rotated.seal(text, "record", "run", 7)).toMatch(/^~1\.b\./)
    expect(rotated.open(text, damaged, "record", "run", 7)).toBe(text)
  })
})

describe("the keys of a store", () => {
  test("are compared with what it was written with", () => {
    const stored = [checkKeys(new KeyRing([a]), []) as { id: string; check: string }]
    expect(checkKeys(new KeyRing([a]), stored)).toBeUndefined()
    expect(checkKeys(new KeyRing([b, a]), stored)).toMatchObject({ id: "b" })
    expect(checkKeys(plainCodec, [])).toBeUndefined()
    for (const codec of [plainCodec, new KeyRing([b])])
      expect(() => checkKeys(codec, stored)).toThrow(expect.objectContaining({ code: "STORE_KEY_MISSING" }))
    expect(() => checkKeys(new KeyRing([key("a", 9)]), stored)).toThrow(
      expect.objectContaining({ code: "STORE_KEY_WRONG", message: expect.stringContaining('Key "a"') }),
    )
  })

  test("are shown nowhere", () => {
    const secret = Buffer.from(a.key).toString("base64")
    const ring = new KeyRing([a])
    expect(inspect(ring, { depth: 9, showHidden: true }) + JSON.stringify(ring)).not.toContain(secret)
    const short = Buffer.alloc(31, 7).toString("base64")
    expect(() => new KeyRing([{ id: "x", key: short }])).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.not.stringContaining(short) }),
    )
  })

  test.each([
    [[], /at least one/],
    [[a, key("a", 3)], /same id/],
    [[{ id: "a b", key: a.key }], /id of a key/],
    [[{ id: "a", key: "AAAA" }], /must have 32 bytes/],
  ])("are refused: %j", (keys, message) => {
    expect(() => new KeyRing(keys)).toThrow(message)
  })
})

describe("environmentKeys", () => {
  const text = `new:${Buffer.alloc(32, 1).toString("base64")},old:${Buffer.alloc(32, 2).toString("base64")}`

  test("reads a variable or a file, the first key first", async () => {
    expect((await loadKeys(environmentKeys({ SUPERSTEP_KEYS: text }))).writes).toBe("new")
    const folder = mkdtempSync(join(tmpdir(), "superstep-keys-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "keys")
    writeFileSync(file, `${text.split(",").reverse().join("\n")}\n`)
    expect((await loadKeys(environmentKeys({ SUPERSTEP_KEYS_FILE: file }))).writes).toBe("old")
    expect(() => environmentKeys({ SUPERSTEP_KEYS_FILE: `${file}.not` }).load()).toThrow(/cannot be read/)
    expect(environmentKeys({}).load()).toEqual([])
  })

  test("repeats nothing of what it cannot read", () => {
    expect(() => environmentKeys({ SUPERSTEP_KEYS: "hunter2" }).load()).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.not.stringContaining("hunter2") }),
    )
  })
})
