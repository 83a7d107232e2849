/** Random steps files: most can run, some are invalid. */
import fc from "fast-check"

const AGENTS = ["a", "b", "c"]

/** A step before its references are filled in: `n` selects what it refers to. */
interface Seed {
  readonly type: string
  readonly n: number
  readonly extra: Readonly<Record<string, unknown>>
  readonly inside: readonly (readonly Seed[])[]
}

type Step = Record<string, unknown>

const n = fc.nat(1_000)
/** Present once in this many times. */
const rarely = <T>(value: fc.Arbitrary<T>, times: number) =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })
const decides = fc.constantFrom(
  "$input == 'go'",
  "false",
  "size($steps.@.output) > 20",
  "{{ $steps.@.output.contains('e') }}",
  "{{ $steps.@.output }}",
)
const prompt = fc.constantFrom("Write", "{{ $input }}!", "About {{ $steps.@.output }}", "{{ $run.id == '' }}")
const retry = rarely(fc.constant({ max_attempts: 1, initial_delay_seconds: 0 }), 4)
const common = { when: rarely(decides, 5), on_error: rarely(fc.constant("continue"), 5), retry }

const seeds = fc.letrec<{ seed: Seed; list: readonly Seed[] }>((tie) => {
  const list = tie("list")
  const some = fc.array(tie("seed"), { minLength: 1, maxLength: 3 })
  const row = fc.array(tie("seed"), { minLength: 2, maxLength: 3 })
  const seed = (
    type: string,
    extra: fc.Arbitrary<Readonly<Record<string, unknown>>>,
    inside: Seed["inside"] | fc.Arbitrary<Seed["inside"]> = [],
  ) =>
    fc.record({
      type: fc.constant(type),
      n,
      extra,
      inside: "generate" in inside ? inside : fc.constant(inside),
    })
  return {
    seed: fc.oneof(
      { maxDepth: 4, depthIdentifier: "step", depthSize: "medium", withCrossShrink: true },
      {
        weight: 5,
        arbitrary: seed(
          "agent",
          fc.record({ ...common, prompt: rarely(prompt, 2), loop: rarely(fc.constant(false), 3) }),
        ),
      },
      { weight: 2, arbitrary: seed("condition", fc.record({ condition: decides }), fc.tuple(list, list)) },
      // Several steps in a row, for branches.
      {
        weight: 2,
        arbitrary: seed("condition", fc.constant({ condition: "$input == 'go'" }), fc.tuple(row)),
      },
      { weight: 2, arbitrary: seed("parallel", fc.record(common), fc.tuple(some)) },
      {
        weight: 1,
        arbitrary: seed(
          "map",
          fc.record({ ...common, over: fc.constantFrom("[1, 2]", "[]", "$input", "[$input]") }),
          fc.tuple(some),
        ),
      },
      { weight: 1, arbitrary: seed("goto", fc.record({ when: rarely(decides, 2) })) },
    ),
    list: fc.array(tie("seed"), { maxLength: 3 }),
  }
})

export const randomFile: fc.Arbitrary<string> = fc
  .record({ list: fc.array(seeds.seed, { minLength: 1, maxLength: 4 }), wrong: n })
  .map(({ list, wrong }) => {
    const counter = { count: 0 }
    const steps = filled(list, counter, "", "")
    // One in ten is invalid.
    const spoil = SPOILED[wrong % (SPOILED.length * 10)]
    const text = JSON.stringify({
      agents: Object.fromEntries(AGENTS.map((agent) => [agent, { model: "offline" }])),
      workflow: { steps, max_loop_iterations: 3 },
    })
    return spoil === undefined ? text : spoil(text)
  })

const SPOILED: readonly ((text: string) => string)[] = [
  (text) => text.replace('"type":"agent"', '"type":"agnet"'),
  (text) => text.replace('"name":"a"', '"name":"nobody"'),
  (text) => text.replace("$steps.", "$stepps."),
  (text) => text.replace(/\$steps\.s/, "$steps.x"),
  (text) => text.replace('"goto":"s', '"goto":"x'),
  (text) => text.replace("{{", "{{{"),
  (text) => text.replace('"id":"s2"', '"id":"s1"'),
  (text) => text.slice(0, -3),
]

/** Refers to existing steps: steps of the same block, and gotos that stay in their branch. */
function filled(list: readonly Seed[], counter: { count: number }, block: string, branch: string): Step[] {
  const known = new Map<string, string[]>()
  const make = (seed: Seed, path: string, region: string): Step => {
    const { type, extra, inside } = seed
    const id = `s${++counter.count}`
    if (type !== "goto") {
      for (const key of [path, `${path}:${region}`]) known.set(key, [...(known.get(key) ?? []), id])
    }
    const step: Step = { ...extra, id, type, "@": [seed.n, path, region] }
    if (type === "agent") step.name = AGENTS[seed.n % AGENTS.length]
    if (type === "condition") {
      const [yes = [], no = []] = inside
      step.true = yes.map((one) => make(one, path, region))
      step.false = no.map((one) => make(one, path, region))
    }
    if (type === "parallel") {
      const branches = (inside[0] ?? []).filter((one) => one.type !== "goto")
      step.steps = branches.map((one, i) => make(one, id, String(i)))
    }
    if (type === "map") step.steps = (inside[0] ?? []).map((one) => make(one, id, ""))
    return step
  }
  const fill = (step: Step): Step => {
    const { "@": at, ...rest } = step
    const [chosen, path, region] = at as [number, string, string]
    const pick = (names: readonly string[] = []) => names[chosen % Math.max(1, names.length)] ?? "s1"
    const filledIn = Object.entries(rest).map(([field, value]): [string, unknown] => {
      if (typeof value === "string") return [field, value.replaceAll("@", pick(known.get(path)))]
      return [field, Array.isArray(value) ? (value as Step[]).map(fill) : value]
    })
    const made = Object.fromEntries(filledIn)
    return made.type === "goto" ? { ...made, goto: pick(known.get(`${path}:${region}`)) } : made
  }
  return list.map((seed) => make(seed, block, branch)).map(fill)
}
