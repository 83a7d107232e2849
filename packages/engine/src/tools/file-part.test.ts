import { describe, expect, test } from "vitest"
import { cutToSize } from "./call-tool.ts"
import { contentParts, readPart } from "./file-part.ts"
import { filePart } from "./index.ts"

const PNG = "iVBORw0KGgo="
const bytes = Buffer.from(PNG, "base64")

describe("a file part", () => {
  test.each<[string, Parameters<typeof filePart>, object]>([
    ["bytes", [bytes], { mediaType: "image/png", data: PNG }],
    ["a part of other bytes", [Buffer.concat([Buffer.of(0), bytes]).subarray(1)], { data: PNG }],
    ["an ArrayBuffer", [new Uint8Array(bytes).buffer], { mediaType: "image/png", data: PNG }],
    ["base64", [PNG], { mediaType: "image/png", data: PNG }],
    ["an address", [new URL("https://example.com/a.pdf")], { mediaType: "application/pdf" }],
    ["a data URL", ["data:text/plain,a%20b"], { mediaType: "text/plain", data: "YSBi" }],
    ["a name", [Buffer.from("a,b"), { filename: "x.CSV" }], { mediaType: "text/csv", filename: "x.CSV" }],
  ])("of %s is plain data", (_, args, expected) => {
    const part = filePart(...args)
    expect(part).toMatchObject({ type: "file", ...expected })
    expect(JSON.parse(JSON.stringify(part))).toEqual(part)
    expect(readPart(part)).toBe(part)
  })

  test.each<[string, unknown]>([
    ["nothing", ""],
    ["an unknown type", Buffer.from("?")],
    ["another scheme", "ftp://example.com/a.png"],
    ["no base64", "{}"],
  ])("of %s is refused", (_, data) => {
    expect(() => filePart(data as string)).toThrow(expect.objectContaining({ code: "FILE_INVALID" }))
  })

  test("a Buffer that was converted to JSON is read", () => {
    expect(readPart({ type: "image", image: JSON.parse(JSON.stringify(bytes)) })).toMatchObject({ data: PNG })
  })

  test("a large file is read in linear time", () => {
    const large = "A".repeat(8_000_000)
    expect(filePart(large, { mediaType: "application/pdf" }).data).toBe(large)
    expect(() => filePart(`${large}!`, { mediaType: "application/pdf" })).toThrow()
  })
})

describe("a tool's result", () => {
  const file = filePart(bytes)

  test.each<[string, unknown, number | undefined]>([
    ["a file", file, 1],
    ["files and text", ["Here:", file, { type: "text", text: "Done." }], 3],
    ["a list without files", ["a", "b"], undefined],
    ["data that has a file in it", { chart: file }, undefined],
    ["a list with other data", [file, { n: 1 }], undefined],
    ["a file with more fields", { ...file, size: 3 }, undefined],
  ])("%s", (_, value, parts) => {
    expect(contentParts(value)?.length).toBe(parts)
  })

  test("is cut without its files", () => {
    const large = { ...file, data: PNG.repeat(100) }
    const { value } = cutToSize(["x".repeat(50), large] as never, 10)
    expect(value).toEqual([expect.stringMatching(/^x{10}\n… \[cut/), large])
  })
})
