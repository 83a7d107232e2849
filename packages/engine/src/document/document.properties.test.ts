/** Holds for every input: nothing throws, and every source range lies within the text. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { stringify } from "yaml"
import { z } from "zod"
import type { Json } from "../core/index.ts"
import { cellWidth } from "../text/index.ts"
import { type Diagnostic, linesOf, type Path, type SourceRange } from "./diagnostic.ts"
import { type Document, parseDocument } from "./parse-document.ts"
import { printDiagnostics } from "./print-diagnostics.ts"
import { readShape } from "./read-shape.ts"

const RUNS = 300

const scraps = [
  ..."{}[]:,'\"#&*!|>-?%@`\\~<=. \t\n\r",
  ..."ab1é日😀\u0301\uFEFF\x1B",
  ..."- |: |\r\n|\n  |\n\t|\n---\n|\n...\n|: |\n  - |key: |&a |*a|!!str |!!js/x |<<: |{{ |}}|\\u0041|''".split(
    "|",
  ),
  ...["null", "true", ".nan", "1e999", "0x1F", "// c", "/* c */", '"a"', "%YAML 1.1\n", "|2-\n", ">+\n  "],
]
const text = fc.oneof(
  fc.array(fc.constantFrom(...scraps), { maxLength: 60 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 60 }),
)
const file = fc.constantFrom("a.yaml", "a.json", "-")

function expectWithin(place: SourceRange | undefined, source: string): void {
  if (place === undefined) return expect.unreachable("it has no place")
  const line = linesOf(source)[place.line - 1]
  expect(line).toBeDefined()
  expect(place.column).toBeGreaterThanOrEqual(1)
  expect(place.length).toBeGreaterThanOrEqual(1)
  const end = place.column - 1 + place.length
  const length = line?.length ?? 0
  // A missing value is reported just after the last character.
  expect(end).toBeLessThanOrEqual(place.length === 1 ? length + 1 : length)
}

function expectPrintable(diagnostics: readonly Diagnostic[], source: string): void {
  const printed = printDiagnostics(diagnostics, () => source, { color: false, width: 60 })
  for (const line of printed.split("\n")) {
    expect(cellWidth(line)).toBeLessThanOrEqual(60)
    expect(line).not.toMatch(/\p{Cc}/u)
  }
}

function* pathsOf(
  data: Json | undefined,
  path: Path = [],
): Generator<{ path: Path; value: Json | undefined }> {
  yield { path, value: data }
  if (typeof data !== "object" || data === null) return
  const entries: [string | number, Json | undefined][] = Array.isArray(data)
    ? [...data.entries()]
    : Object.entries(data)
  for (const [key, value] of entries) yield* pathsOf(value, [...path, key])
}

function expectPlaces(document: Document): void {
  for (const { path, value } of pathsOf(document.data)) {
    expectWithin(document.place(path), document.text)
    expectWithin(document.place(path, "key"), document.text)
    expectWithin(document.place([...path, "missing", 3]), document.text)
    if (typeof value !== "string") continue
    for (let from = 0; from <= value.length; from++) {
      expectWithin(document.place(path, { from, to: value.length }), document.text)
    }
  }
}

interface Tree {
  readonly a?: string | undefined
  readonly key?: readonly Tree[] | undefined
}
const tree: z.ZodType<Tree> = z.strictObject({
  a: z.string().optional(),
  key: z.array(z.lazy(() => tree)).optional(),
})
const schemas: readonly z.ZodType[] = [
  tree,
  z.record(z.string().regex(/^[a-z]+$/), z.union([z.string(), z.array(z.number()), tree])),
  z.union([z.strictObject({ a: z.literal("b"), key: z.int() }), z.strictObject({ a: z.literal("1") })]),
  z.discriminatedUnion("a", [z.strictObject({ a: z.literal("b") }), z.strictObject({ a: z.literal("c") })]),
]

describe("any text", () => {
  test("is a document or has errors, with printable positions within it", () => {
    fc.assert(
      fc.property(text, file, (source, name) => {
        const { document, diagnostics } = parseDocument(source, name)
        if (document === undefined)
          expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true)
        else expectPlaces(document)
        for (const { place } of diagnostics) expectWithin(place, source)
        expectPrintable(diagnostics, source)
      }),
      { numRuns: RUNS },
    )
  })

  test("matches a shape or is reported with a reason, never in zod's wording", () => {
    fc.assert(
      fc.property(text, fc.constantFrom(...schemas), (source, schema) => {
        const { document } = parseDocument(source, "a.yaml")
        if (document === undefined) return
        const { value, diagnostics } = readShape(document, schema)
        // Unknown fields are reported, and the rest is still checked.
        const misfits = diagnostics.filter(({ code }) => code !== "UNKNOWN_FIELD")
        if (diagnostics.length === 0) expect(value).toBeDefined()
        if (misfits.length > 0) expect(value).toBeUndefined()
        for (const { place, message } of diagnostics) {
          expectWithin(place, source)
          expect(message).not.toMatch(/Invalid input|^$/)
        }
        expectPrintable(diagnostics, source)
      }),
      { numRuns: RUNS },
    )
  })
})

describe("any data", () => {
  test("written as JSON is parsed like JSON.parse, by either reader", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom("a.json", "a.yaml"), (source, name) => {
        const { document, diagnostics } = parseDocument(source, name)
        // The generator makes control characters only as escapes, but U+FFFD may be one of its characters.
        if (diagnostics.some(({ code }) => code === "NOT_TEXT")) return
        expect(document?.data).toEqual(JSON.parse(source))
      }),
      { numRuns: RUNS },
    )
  })
})

describe("any text value", () => {
  const words = fc.array(
    fc.constantFrom("say ", "x", "'", '"', "\\", "\n", "\n\n", "  ", "\t", "é😀", "# ", "{{ a }}"),
    {
      minLength: 1,
      maxLength: 30,
    },
  )
  const styles = ["PLAIN", "BLOCK_LITERAL", "BLOCK_FOLDED", "QUOTE_SINGLE", "QUOTE_DOUBLE"] as const

  test("in any style is mapped character by character", () => {
    fc.assert(
      fc.property(words, fc.constantFrom(...styles), fc.constantFrom(20, 80), (parts, style, lineWidth) => {
        const source = stringify(
          { t: parts.join("") },
          { defaultStringType: style, defaultKeyType: "PLAIN", lineWidth },
        )
        const { document } = parseDocument(source, "a.yaml")
        // As parsed: in some styles, spaces at the ends of lines are lost.
        const { t: value = "" } = (document?.data ?? {}) as { t?: string }
        expect(value.replace(/\s/g, "")).toBe(parts.join("").replace(/\s/g, ""))
        for (let from = 0; from < value.length; from++) {
          const sign = value[from] ?? ""
          if (/\s/.test(sign)) continue
          const place = document?.place(["t"], { from, to: from + 1 })
          if (place === undefined) return expect.unreachable("it has no place")
          const found = linesOf(source)[place.line - 1]?.slice(
            place.column - 1,
            place.column - 1 + place.length,
          )
          expect([sign, `\\${sign}`, `${sign}${sign}`]).toContain(found)
        }
      }),
      { numRuns: RUNS },
    )
  })
})
