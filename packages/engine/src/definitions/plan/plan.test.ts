// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts that must come out as they are.
import { describe, expect, test } from "vitest"
import { type Node, node } from "../../builder/index.ts"
import { eject } from "./eject.ts"
import { type Arg, call, functionsFrom, later, link, type Plan, PlanWriter } from "./plan.ts"

const calls: string[] = []
const functions = functionsFrom("some/entry", {
  word: (id: string, options: { text: string; friends?: () => Node[] }) =>
    node(id, (input: string) => {
      calls.push(`${id} knows ${options.friends?.().length ?? 0}`)
      return `${input} ${options.text}`
    }),
  says: (text: string) => (message: string) => message.includes(text),
})

/** Two words, one after the other, and a third only if the input requests it. */
function sentence(): Plan {
  const writer = new PlanWriter(Object.keys(functions))
  const first = writer.reserve("2nd-hand word")
  const second = writer.value("says", call("word", "b", { text: "two\nlines", friends: later([first]) }))
  writer.make(first, call("word", "a", { text: 'o"ne' }))
  const third = writer.value("class", call("word", "c", { text: "`${three}`" }))
  const flow = writer.workflow("sentence", "a sentence", { limits: { supersteps: 7 } })
  flow.wire("start", first)
  flow.wire("edge", first, second)
  flow.wire("switch", second, [{ when: call("says", "more"), to: third, label: "more" }], undefined)
  return writer.plan(flow.done())
}

describe("linking", () => {
  test("the calls are made in order, and the workflow runs", async () => {
    const { workflow, values } = link(sentence(), functions)
    expect((await workflow.run("more" as never)).outputs).toEqual(['more o"ne two\nlines `${three}`'])
    expect((await workflow.run("less" as never)).outputs).toEqual(['less o"ne two\nlines'])
    expect(workflow.program.graph.spec.limits).toEqual({ supersteps: 7 })
    expect([...values.keys()]).toEqual(["says2", "_2ndHandWord", "class2", "sentence"])
    expect(calls.slice(0, 2)).toEqual(["a knows 0", "b knows 1"])
  })

  test("an unknown function is named in the error", () => {
    const { word: _, ...others } = functions
    expect(() => link(sentence(), others)).toThrow('The definition needs the function "word"')
  })

  test("names of Object.prototype are not functions", () => {
    const writer = new PlanWriter([])
    const plan = writer.plan(writer.value("x", call("constructor", "return 1")))
    expect(() => link(plan, functions)).toThrow('The definition needs the function "constructor"')
  })
})

describe("ejecting", () => {
  test("the calls are printed with their imports, and strings unchanged", () => {
    expect(eject(sentence(), functions, { note: "Made from a.yaml.\nexport default evil" })).toBe(
      `// Made from a.yaml. export default evil
import { says, word } from "some/entry"
import { workflow } from "superstep"

const says2 = word("b", {
  text: \`two
lines\`,
  friends: () => [_2ndHandWord],
})

const _2ndHandWord = word("a", { text: "o\\"ne" })

const class2 = word("c", { text: "\`\${three}\`" })

export const sentence = workflow("a sentence", { limits: { supersteps: 7 } })
  .start(_2ndHandWord)
  .edge(_2ndHandWord, says2)
  .switch(says2, [{ when: says("more"), to: class2, label: "more" }])
  .build()

export default sentence
`,
    )
  })

  test("long lines are wrapped: imports, calls, workflows and their methods", () => {
    const names = ["alpha", "beta", "gamma", "delta"].map((name) => `${name}WithQuiteALongName`)
    const functions = functionsFrom("some/entry", Object.fromEntries(names.map((name) => [name, () => 1])))
    const writer = new PlanWriter(names)
    const [alpha = "", beta = "", gamma = "", delta = ""] = names
    const word = "thirty characters of some text"
    const first = writer.value("first", call(alpha, word, { text: word, more: word }))
    const second = writer.value("second", call(beta, word, word, word))
    const third = writer.value("third", call(gamma, later({ list: [word, word, word] }), call(delta)))
    const flow = writer.workflow("main", word, { description: word, limits: { supersteps: 1_000_000 } })
    flow.wire("start", first).wire("fanOut", first, [second, third, second, third, second, third, second])
    flow.wire("switch", first, [{ when: call(delta, word), to: second, label: word }], third)
    const text = eject(writer.plan(flow.done()), functions)
    expect(text).toBe(`import {
  alphaWithQuiteALongName,
  betaWithQuiteALongName,
  deltaWithQuiteALongName,
  gammaWithQuiteALongName,
} from "some/entry"
import { workflow } from "superstep"

const first = alphaWithQuiteALongName("${word}", {
  text: "${word}",
  more: "${word}",
})

const second = betaWithQuiteALongName(
  "${word}",
  "${word}",
  "${word}",
)

const third = gammaWithQuiteALongName(
  () => ({
    list: [
      "${word}",
      "${word}",
      "${word}",
    ],
  }),
  deltaWithQuiteALongName(),
)

export const main = workflow("${word}", {
  description: "${word}",
  limits: { supersteps: 1000000 },
})
  .start(first)
  .fanOut(first, [second, third, second, third, second, third, second])
  .switch(
    first,
    [
      {
        when: deltaWithQuiteALongName("${word}"),
        to: second,
        label: "${word}",
      },
    ],
    third,
  )
  .build()

export default main
`)
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100)
  })

  test("a line of exactly the maximum width is not wrapped", () => {
    const print = (length: number) => {
      const writer = new PlanWriter(["f"])
      const plan = writer.plan(writer.value("x", call("f", { text: "a".repeat(length) })))
      return eject(plan, functionsFrom("f", { f: () => 1 })).split("\n\n")[1]
    }
    // `const x = f({ text: "" })` is 25 characters.
    expect(print(75)).toHaveLength(100)
    expect(print(76)).toBe(`const x = f({\n  text: "${"a".repeat(76)}",\n})`)
  })

  test("no string can escape its quotes", () => {
    const writer = new PlanWriter(["f"])
    const evil = { ["__proto__"]: 1, "a-b": "\u2028`${x}`\n${y}\\`" }
    const text = eject(writer.plan(writer.value("x", call("f", evil))), functionsFrom("f", { f: () => 1 }))
    expect(text).toContain('["__proto__"]: 1')
    expect(text).toContain('"a-b": "\\u2028`${x}`\\n${y}\\\\`"')
  })

  const ejectedArg = (arg: Arg, note?: string) => {
    const writer = new PlanWriter(["f"])
    const plan = writer.plan(writer.value("x", call("f", arg)))
    return eject(plan, functionsFrom("f", { f: () => 1 }), { note })
  }

  test("only a value is written in shorthand, not a string or a word that equals its key", () => {
    const data = { "a-b": "a-b", null: null, true: true, x: "x", undefined: 1 }
    expect(ejectedArg(data)).toContain('f({ "a-b": "a-b", null: null, true: true, x: "x", undefined: 1 })')
    const writer = new PlanWriter(["f"])
    const model = writer.value("model", call("f"))
    const plan = writer.plan(writer.value("y", call("f", { model })))
    expect(eject(plan, functionsFrom("f", { f: () => 1 }))).toContain("const y = f({ model })")
  })

  test("a string that a file cannot contain unescaped is in quotes, on one line", () => {
    expect(ejectedArg("one\ntwo\t\\")).toContain("f(`one\ntwo\t\\\\`)")
    expect(ejectedArg("one\n\u0000two")).toContain('f("one\\n\\u0000two")')
    expect(ejectedArg("one\n\ud800")).toContain('f("one\\n\\ud800")')
    expect(ejectedArg("one\n\u202etwo")).toContain('f("one\\n\\u202etwo")')
    expect(ejectedArg("tea \ud83c\udf75\n")).toContain("f(`tea \ud83c\udf75\n`)")
  })

  test("a note is one line, whatever line breaks it contains", () => {
    const [first, second] = ejectedArg(1, "Made from a.yaml.\u2028evil()").split("\n")
    expect([first, second]).toEqual(["// Made from a.yaml. evil()", 'import { f } from "f"'])
  })

  test("values get unique TypeScript identifiers", () => {
    const writer = new PlanWriter(["f"])
    const named = (text: string) => writer.reserve(text).name
    expect(
      ['say "hi"', "Größe", "日本", "🍵", "🫖", "²", "9 to 5", "new", "New", "exports"].map(named),
    ).toEqual(["sayHi", "größe", "日本", "value", "value2", "_", "_9To5", "new2", "new3", "exports2"])
    const many = Array.from({ length: 20_000 }, () => named("step"))
    expect(new Set(many).size).toBe(20_000)
    expect(many.at(-1)).toBe("step20000")
    expect(named("step 19999 0")).toBe("step199990")
    expect(named(`${"a block/".repeat(30)}the step`)).toBe(`blockA${"BlockA".repeat(7)}BlockTheStep`)
  })
})
