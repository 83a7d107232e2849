import { describe, expect, test } from "vitest"
import { stepList } from "./nodes/step-list.ts"
import { type StepRecord, View, type ViewOptions } from "./nodes/view.ts"

const steps = stepList(["a", { id: "par", branches: [["x"], ["y"]] }, "b"])
const INPUT = { prompt: "go" }

function view(path: string, records: readonly StepRecord[], more: Partial<ViewOptions> = {}): View {
  const options = { steps, path, prompt: "go", input: INPUT, items: [], carried: 0, runId: "r" }
  return new View({ ...options, records: () => records, ...more })
}

function seenBy(one: View): string[] {
  return Array.from(one.outputs(), ({ id, output }) => `${id}: ${output}`)
}

const done = (id: string, output: string): StepRecord => ({ id, output })
const begun = (id: string): StepRecord => ({ id, begun: true })

describe("the view of a step", () => {
  const records = [done("b", "0"), done("a", "1"), begun("par"), done("par/y", "2"), done("a", "3")]

  test("has the latest output of each step, in the order of definition", () => {
    expect(seenBy(view("b", records))).toEqual(["a: 3", "par/y: 2", "b: 0"])
    expect(view("b", records).output("a")).toMatchObject({ output: "3" })
    expect(view("b", records).output("par/x")).toBeUndefined()
  })

  test("has, in a branch of a block, the outputs from before the block, and those of its own branch", () => {
    expect(seenBy(view("par/x", records))).toEqual(["a: 1", "b: 0"])
    expect(seenBy(view("par/y", records))).toEqual(["a: 1", "par/y: 2", "b: 0"])
  })

  test("stays the same while the list grows", () => {
    const input = { prompt: "go" }
    const early = view("b", records.slice(0, 2), { input })
    expect(seenBy(early)).toEqual(["a: 1", "b: 0"])
    expect(seenBy(view("b", records, { input }))).toEqual(["a: 3", "par/y: 2", "b: 0"])
    expect(seenBy(early)).toEqual(["a: 1", "b: 0"])
  })

  test("is separate for two forks, which share their beginning", () => {
    const input = { prompt: "go" }
    const [first] = records as [StepRecord]
    const [one, other] = [
      [first, done("a", "one")],
      [first, done("a", "other")],
    ]
    for (const [list, last] of [
      [one, "one"],
      [other, "other"],
      [one, "one"],
    ] as const) {
      expect(view("b", list, { input }).output("a")).toMatchObject({ output: last })
    }
  })
})

describe("a prompt", () => {
  const text = (one: View) => one.promptText().match(/^\[.*\]:\n.*$/gm) ?? []
  const orders = {
    "in the order of definition": [done("a", "1"), done("par/x", "2"), done("b", "3")],
    "in another order": [
      done("b", "1"),
      begun("par"),
      done("par/y", "2"),
      done("par/x", "3"),
      done("a", "4"),
    ],
    "again in a loop": [done("a", "1"), done("b", "2"), done("a", "3"), done("b", "4")],
    "without text": [done("a", ""), done("b", "1"), done("a", ""), done("a", "2")],
  }

  test.each(Object.entries(orders))("begins with the latest outputs that arrive %s", (_, records) => {
    const input = { prompt: "go" }
    for (let count = 0; count <= records.length; count++) {
      const first = records.slice(0, count)
      const expected = seenBy(view("b", first)).filter((one) => !one.endsWith(": "))
      expect(text(view("b", first, { input }))).toEqual(
        expected.map((one) => `[${one.replace(": ", "]:\n")}`),
      )
    }
  })

  test("stays the same while the list grows", () => {
    const input = { prompt: "go" }
    const records = orders["in the order of definition"]
    const early = view("b", records.slice(0, 1), { input })
    expect(text(early)).toEqual(["[a]:\n1"])
    expect(text(view("b", records, { input }))).toHaveLength(3)
    expect(text(early)).toEqual(["[a]:\n1"])
    expect(text(view("b", records, { input }))).toHaveLength(3)
  })
})

describe("the work of a step", () => {
  test("does not depend on the number of records before it", () => {
    const input = { prompt: "go" }
    const names = Array.from({ length: 1_000 }, (_, i) => `s${i}`)
    const long = stepList(names)
    const records: StepRecord[] = []
    let reads = 0
    const counted = new Proxy(records, {
      get(list, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) reads++
        return Reflect.get(list, key)
      },
    })
    for (const [i, name] of names.entries()) {
      const before = names[i - 1]
      const found = view(name, counted, { steps: long, input }).output(before ?? name)
      expect(found?.output).toBe(before)
      records.push(done(name, name))
    }
    expect(reads).toBeLessThan(10 * names.length)
  })

  test("that takes all outputs into its prompt writes each of them once", () => {
    const input = { prompt: "go" }
    const names = Array.from({ length: 300 }, (_, i) => `s${i}`)
    const long = stepList(names)
    const records: StepRecord[] = []
    let reads = 0
    for (const name of names) {
      view(name, [...records], { steps: long, input }).promptText()
      const read = () => {
        reads++
        return name
      }
      records.push(Object.defineProperty({ id: name }, "output", { get: read }))
    }
    expect(reads).toBeLessThan(2 * names.length)
  })

  test("reads no records if nothing refers to them", () => {
    const untouched = view("b", [], {
      records: () => {
        throw new Error("The records were read.")
      },
    })
    expect(untouched.prompt).toBe("go")
    expect(untouched.path).toBe("b")
  })
})
