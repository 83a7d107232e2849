/** Everything in an agent that calls a model, randomly and concurrently: nothing exceeds a budget, and everything counts. */
import { describe, expect, inject, test } from "vitest"
import { z } from "zod"
import { memoryStore, node, workflow } from "../index.ts"
import { simulate } from "../testing/index.ts"
import { tool } from "../tools/index.ts"
import { type AgentOptions, agent, judge, type Middleware, summarise } from "./index.ts"
import { pureModel } from "./stand-ins.test-support.ts"

const CASES = inject("isProof") ? 200 : 30

const look = tool({ name: "look", description: "Looks.", run: () => "seen" })

/** Other parts of an agent that call a model. */
const features = {
  judged: (model) => ({ guardrails: [judgedBy(model, false)] }),
  judgedBeside: (model) => ({ guardrails: [judgedBy(model, true)] }),
  summarised: () => ({ history: summarise({ after: 2, keep: 1 }) }),
  answering: () => ({ onLimit: "answer" }),
  hooked: (model) => ({ middleware: [asking(model)] }),
  repaired: () => ({ output: z.object({ never: z.literal("there") }), repairs: 3 }),
  asking: (model) => ({
    tools: [look, agent({ name: "helper", model, stream: false, tools: [look] }).asTool()],
  }),
} satisfies Record<
  string,
  (model: ReturnType<typeof pureModel>) => Partial<AgentOptions> & { output?: unknown }
>

function judgedBy(model: ReturnType<typeof pureModel>, parallel: boolean) {
  return judge({ name: "j", on: "input", agent: agent({ name: "judge", model, stream: false }), parallel })
}

/** A hook that calls another agent before each model call. */
function asking(model: ReturnType<typeof pureModel>): Middleware {
  const adviser = agent({ name: "adviser", model, stream: false })
  return {
    beforeModel: async ({ ctx }) => {
      await ctx.call(adviser, "advice?" as never)
      return undefined
    },
  }
}

/** Never stops calling tools. */
function eager() {
  return pureModel((_, turn, name) => {
    if (name === "judge") return '{"trips": false}'
    if (name === "adviser") return "Yes."
    const asks = name !== "helper" && turn % 2 === 1
    return {
      text: "x".repeat(40),
      calls: [asks ? { name: "helper", args: { input: "go" } } : { name: "look" }],
    }
  })
}

const names = Object.keys(features) as (keyof typeof features)[]

function office(
  model: ReturnType<typeof pureModel>,
  chosen: readonly (keyof typeof features)[],
  many: number,
) {
  const options = Object.assign({ tools: [look] }, ...chosen.map((one) => features[one](model)))
  const workers = Array.from({ length: many }, (_, i) =>
    agent({ name: `worker${i}`, model, stream: false, ...options } as never),
  )
  const split = node("split", (text: string) => text)
  const flow = workflow("office").start(split)
  return many === 1
    ? flow.edge(split, workers[0] as never).build()
    : flow.fanOut(split, workers as never[]).build()
}

describe("a budget of model calls is enforced, and the usage equals the calls made", () => {
  test.each(names)("%s", async (name) => {
    for (const most of [1, 2, 3, 5]) {
      for (const many of [1, 4]) {
        const model = eager()
        const { usage } = await office(model, [name], many).run("go", { budget: { modelCalls: most } }).result
        expect(model.calls.length, `${most} for ${many}`).toBeLessThanOrEqual(most)
        expect(usage.modelCalls ?? 0).toBe(model.calls.length)
      }
    }
  })

  test.each([
    ["judged", "judge"],
    ["judgedBeside", "judge"],
    ["hooked", "adviser"],
    ["asking", "helper"],
  ] as const)("and %s really asks the %s", async (name, asked) => {
    const model = eager()
    await office(model, [name], 1).run("go", { budget: { modelCalls: 6 } }).result
    const agents = model.calls.map(({ providerOptions }) => providerOptions?.superstep?.agent)
    expect(agents).toContain(asked)
  })

  test("in any combination, wherever the process dies", async () => {
    for (let at = 0; at < CASES; at++) {
      const seed = (inject("seed") as number) + at
      const chosen = names.filter((_, i) => ((seed * 2_654_435_761) >>> (i + 3)) % 2 === 1)
      const modelCalls = 1 + (seed % 7)
      const model = eager()
      const { result } = await simulate(office(model, chosen, 1 + (seed % 3)), "go", {
        seed,
        faults: { crash: [{ after: 2 + (seed % 9) }] },
        run: { budget: { modelCalls } },
      })
      const about = `seed ${seed}: ${chosen.join(", ")}`
      expect(result.usage.modelCalls ?? 0, about).toBeLessThanOrEqual(modelCalls)
      expect(model.calls.length, about).toBeLessThanOrEqual(result.usage.modelCalls ?? 0)
    }
  })

  test("an agent's own limit applies to all its concurrent tasks, including retries", async () => {
    const model = eager()
    const store = memoryStore()
    let failures = 0
    const failing = tool({
      name: "look",
      description: "Fails now and then.",
      run: () => {
        if (failures++ % 2 === 0) throw new Error("not now")
        return "seen"
      },
    })
    const worker = agent({
      name: "worker",
      model,
      stream: false,
      tools: [failing],
      onToolError: "fail",
      retry: { attempts: 5, delay: 0 },
      concurrency: 4,
      limits: { modelCalls: 5 },
    })
    const each = node("each", () => [1, 2, 3, 4])
    const flow = workflow("w")
      .start(each)
      .map(each, worker as never)
      .build()
    const { usage } = await flow.run("go" as never, { store }).result
    expect(model.calls.length).toBeLessThanOrEqual(5)
    expect(usage.modelCalls).toBe(model.calls.length)
  })
})
