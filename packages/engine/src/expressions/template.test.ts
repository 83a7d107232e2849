import { describe, expect, it } from "vitest"
import type { Json } from "../core/index.ts"
import { template } from "./index.ts"

const VALUES: Record<string, Json> = {
  input: "moon",
  n: 3,
  list: [1, 2],
  none: null,
  deep: { a: { b: true } },
}
const scope = (root: string) => VALUES[root]
const render = (source: string) => template(source, "steps").render(scope)

describe("a template", () => {
  it.each([
    ["no braces, $input and }} stay", "no braces, $input and }} stay"],
    ["About the {{ $input }}!", "About the moon!"],
    ["{{$input}}{{$n}}", "moon3"],
    ["[{{ $nowhere.at.all }}{{ $none }}]", "[]"],
    ["{{ $list }} {{ $deep }}", `[1,2] {"a":{"b":true}}`],
    ["{{ $deep.a.b }} {{ $n == 3 }}", "true true"],
    [`{{ "}}" + '{{' }}`, "}}{{"],
    [`{{ {"a": {"b": 1}} }}`, `{"a":{"b":1}}`],
    [`{{ {"a": {"b": 1}}.a.b}}`, "1"],
    ["\\{{ $input }} {{ $input }}", "{{ $input }} moon"],
    ["it's {{ $input }}, isn't it", "it's moon, isn't it"],
    ["{{\n  $input\n}}\n", "moon\n"],
  ])("%j renders", (source, expected) => {
    expect(render(source)).toBe(expected)
  })

  it("keeps the type of a single expression", () => {
    const value = (source: string) => template(source, "steps").value(scope)
    expect(value("{{ $list }}")).toEqual([1, 2])
    expect(value("  {{ $n + 1 }}\n")).toBe(4)
    expect(value("{{ $nowhere }}")).toBeUndefined()
    expect(value("{{ $n }}{{ $n }}")).toBe("33")
    expect(value("plain")).toBe("plain")
  })

  it("reports its references with their positions in the text", () => {
    const source = "a {{ $input }} b {{ $deep.a.b || $n == 1 }}"
    const { references, isPlain } = template(source, "steps")
    expect(references.map(({ start, end }) => source.slice(start, end))).toEqual([
      "$input",
      "$deep.a.b",
      "$n",
    ])
    expect(isPlain).toBe(false)
    expect(template("\\{{ x }}", "steps").isPlain).toBe(true)
  })

  it("requests each reference from its scope separately", () => {
    const asked: unknown[] = []
    template("{{ $deep }} {{ $deep.a.b }}", "steps").render((root, path) => {
      asked.push(root, path)
      return null
    })
    expect(asked).toEqual(["deep", [], "deep", ["a", "b"]])
  })

  it("accepts bare names in the graph spelling", () => {
    expect(template("Hi {{ input }} {{ none or 'there' }}", "graph").render(scope)).toBe("Hi moon there")
  })

  it.each([
    ["ab {{ $input", 3, 5],
    ["ab {{ $input } }", 3, 5],
    ["{{ $input + 'x }}", 12, 15],
    ["ok {{ $input }} {{ }}", 18, 19],
    ["ok {{ $input $n }}", 13, 15],
    ["{{ (1 }}", 3, 4],
  ])("%j is refused with the position in the text", (source, start, end) => {
    expect(() => template(source, "steps")).toThrowError(
      expect.objectContaining({ code: "EXPRESSION_INVALID", start, end }),
    )
  })
})
