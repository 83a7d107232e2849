import fc from "fast-check"
import { expect, test } from "vitest"
import { documentText } from "./document-text.ts"
import { parseDocument } from "./parse-document.ts"

const shared = { id: "a" }
const document = {
  id: "story",
  texts: [
    "yes",
    "1e3",
    "null",
    "",
    "  two lines\nand a tab\t",
    "{{ $steps.a.output }}",
    "# no comment",
    "é 漢 🎈",
    " \n",
    "a sign that was no text: \uFFFD",
    "\x00\x07\x1b[31m\x7f\n\uFFFD",
  ],
  "\x7f a key \uFFFD": 1,
  "<<": { id: "no merge" },
  parts: [shared, shared],
  prompt: `${"a long sentence that is not broken anywhere ".repeat(5)}\nand continues`,
}

test.each(["yaml", "json"] as const)("data written as %s reads back as it was", (format) => {
  const text = documentText(document, format)
  expect(text.endsWith("\n")).toBe(true)
  expect(parseDocument(text, `file.${format}`).document?.data).toEqual(document)
})

test("YAML is written for people: no aliases, long strings in blocks", () => {
  const text = documentText(document, "yaml")
  expect(text).not.toContain("&")
  expect(text).toContain("prompt: |")
})

test("any object reads back from YAML as it was", () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.string({
        unit: fc.oneof(
          fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
          fc.constantFrom(..."\uFFFD\x7f\x00\x85\u2028\uFEFF\r\n\t :#'\""),
        ),
      }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.string({ minLength: 1, unit: "binary" }), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  })).value
  fc.assert(
    fc.property(value, (inner) => {
      const data = { inner } as never
      expect(parseDocument(documentText(data, "yaml"), "any.yaml").document?.data).toEqual(data)
    }),
    { numRuns: 300 },
  )
})
