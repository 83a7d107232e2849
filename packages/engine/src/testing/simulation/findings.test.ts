/** What `crashTest` and `explore` find: each with a workflow that has the mistake and one that does not. */

import { describe, expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { node, type Workflow, workflow } from "../../index.ts"
import { scriptedModel } from "../../models/index.ts"
import type { Context } from "../../runtime/index.ts"
import { type ComparedOptions, crashTest, explore, type WorkflowSource } from "../index.ts"
import { simulate } from "./simulation.ts"

type Tool = <In>(
  source: WorkflowSource<In, unknown>,
  input: In,
  options?: ComparedOptions,
) => Promise<{ outcome: unknown; repeated: readonly { node: string; begun: number }[] }>

const tools: { name: string; testing: Tool; code: string }[] = [
  {
    name: "crashTest",
    testing: (source, input, options) => crashTest(source, input, { ...options, seeds: 10 }),
    code: "CRASH_TEST_FAILED",
  },
  {
    name: "explore",
    testing: (source, input, options) => explore(source, input, { ...options, runs: 20 }),
    code: "EXPLORATION_FAILED",
  },
]

/** A handler whose process may die before and after the sleep, so that it restarts with the sleep recorded. */
function single<In>(run: (input: In, ctx: Context) => unknown): Workflow<In, unknown> {
  return workflow("single")
    .start(node("work", run as (input: unknown, ctx: Context) => unknown))
    .build() as Workflow<In, unknown>
}

describe.each(tools)("$name", ({ testing, code }) => {
  const finds = async <In>(
    source: WorkflowSource<In, unknown>,
    input: In,
    what: RegExp,
    options?: ComparedOptions,
  ) => {
    const error = await testing(source, input, options).then(
      () => expect.unreachable("it finds nothing"),
      (found: Error) => found,
    )
    expect(error).toMatchObject({ code, message: expect.stringMatching(what) })
    expect(error.message).toMatch(/\n(Replay it|Reproduce): simulate\(workflow, /)
  }

  test("builds a workflow for every process if it receives a function", async () => {
    const build = () => {
      const model = scriptedModel({ writer: ["a draft"], critic: ["good"] })
      const writer = agent({ name: "writer", model, stream: false })
      const critic = agent({ name: "critic", model, stream: false })
      return workflow("write").chain(writer.asNode(), critic.asNode()).build()
    }
    const { outcome } = await testing(build, "go")
    expect(outcome).toMatchObject({ status: "completed", outputs: ["good"] })
    await finds(
      build(),
      "go",
      /scripted model was used up by an earlier process.*\(\) => workflow, so that every process/s,
    )
  })

  test("finds a handler that changes its input", async () => {
    const start = node("start", (n: number) => ({ list: [n] }))
    const push = node("push", (message: { list: number[] }) => {
      message.list.push(2)
      return message.list.length
    })
    await finds(workflow("w").chain(start, push).build(), 1, /handler changed its input.*"push"/s)
    const copy = node("copy", ({ list }: { list: readonly number[] }) => [...list, 2].length)
    const { outcome } = await testing(workflow("w").chain(start, copy).build(), 1)
    expect(outcome).toMatchObject({ outputs: [2] })
  })

  test("finds a change of the input by a handler that then fails", async () => {
    const start = node("start", (n: number) => ({ list: [n] }))
    const push = node("push", async (message: { list: number[] }) => {
      message.list.push(2)
      throw new Error("no")
    })
    await finds(workflow("w").chain(start, push).build(), 1, /handler changed its input/)
  })

  test("finds a change of a value that is frozen", async () => {
    const start = node("start", (n: number) => Object.freeze({ list: Object.freeze([n]) }))
    const push = node("push", (message: { readonly list: readonly number[] }) =>
      (message.list as number[]).push(2),
    )
    await finds(
      workflow("w").chain(start, push).build(),
      1,
      /handler changed its input, or another value that belongs to the run: node "push": /,
    )
  })

  test("finds recorded steps that the handler does not repeat", async () => {
    const byChance = () => {
      let calls = 0
      return single(async (_: null, ctx) => {
        // State in memory, and decisions by time or chance, differ after a restart.
        calls++
        await ctx.step(`call ${calls}`, () => calls)
        await ctx.sleep(1)
        return "done"
      })
    }
    await finds(byChance(), null, /did not repeat its recorded operations: "work".*"step:call \d"/s)
    await testing(byChance, null)
  })

  test("finds questions, sleeps and calls that the handler does not repeat", async () => {
    const inner = workflow("inner")
      .start(node("inner", (n: number) => n))
      .build()
    const memory = { begun: false }
    const waiting = (kind: "ask" | "sleep" | "call", isForgetful: boolean) =>
      single(async (_: null, ctx) => {
        const skips = isForgetful && memory.begun
        memory.begun = true
        if (kind === "ask" && !skips) await ctx.ask("well?")
        if (kind === "sleep" && !skips) await ctx.sleep(10)
        if (kind === "call" && !skips) await ctx.call(inner, 1)
        return ctx.step("last", () => 1)
      })
    const before = () => {
      memory.begun = false
    }
    for (const kind of ["ask", "sleep", "call"] as const) {
      const options = { before, answers: () => "yes" }
      const what = new RegExp(`did not repeat its recorded operations: "work".*"${kind}`, "s")
      await finds(waiting(kind, true), null, what, options)
      await testing(waiting(kind, false), null, options)
    }
  })

  test("allows a retry to take another path than the previous attempt", async () => {
    const other = node({
      id: "other",
      retry: { attempts: 2, delay: 1 },
      run: async (_: null, ctx) => {
        const attempt = await ctx.step(`attempt ${ctx.attempt}`, () => ctx.attempt)
        if (ctx.attempt === 1) throw new Error("again")
        return attempt
      },
    })
    const { outcome } = await testing(workflow("w").start(other).build(), null)
    expect(outcome).toMatchObject({ outputs: [2] })
  })

  test("finds a workflow that always fails, with the reason", async () => {
    const failing = single(() => {
      throw new Error("no such table")
    })
    await finds(failing, null, /undisturbed, it ends failed, not completed: node "work": .*no such table/)
    await finds(failing, null, /pass status: "failed"/)
    const { outcome } = await testing(failing, null, { status: "failed" })
    expect(outcome).toMatchObject({ status: "failed" })
  })

  test("finds a workflow that only waits, with the open question", async () => {
    const asking = single((_: null, ctx) => ctx.ask("Publish?"))
    await finds(asking, null, /undisturbed, it only waits for an answer to "Publish\?" \(node "work"\)/)
    expect(await testing(asking, null, { status: "waiting" })).toMatchObject({
      outcome: { status: "waiting" },
    })
    expect(await testing(asking, null, { answers: () => "yes" })).toMatchObject({
      outcome: { outputs: ["yes"] },
    })
  })

  test("reports the handlers that were called more than once", async () => {
    const { repeated } = await testing(
      single(async (_: null, ctx) => {
        await ctx.sleep(1)
        return "done"
      }),
      null,
    )
    expect(repeated).toEqual([{ node: "work", begun: expect.any(Number) }])
    expect(repeated[0]?.begun).toBeGreaterThan(1)
  })

  describe("with a declared effect", () => {
    test("finds one that is repeated, although the output does not show it", async () => {
      let sent = 0
      const sending = single(async (_: null, ctx) => {
        sent++
        await ctx.sleep(1)
        return "sent"
      })
      await testing(sending, null)
      await finds(
        sending,
        null,
        /effect "mail" happened \d+ times; undisturbed, once\. Handlers begun more than once: "work" \(task 1\)/,
        { effects: { mail: () => sent } },
      )
    })

    test("accepts one in a step, which runs at least once, unless it must happen exactly once", async () => {
      let sent = 0
      const sending = single((_: null, ctx) => ctx.step("send", () => `mail ${++sent}`).then(() => "sent"))
      await testing(sending, null, { effects: { mail: () => sent } })
      await finds(sending, null, /effect "mail" happened \d+ times; undisturbed, once/, {
        effects: { mail: { count: () => sent, exactlyOnce: true } },
      })
    })

    test("accepts one with the idempotency key, wherever it happens", async () => {
      const outbox = new Set<string>()
      const sending = single(async (_: null, ctx) => {
        outbox.add(ctx.idempotencyKey)
        await ctx.sleep(1)
        return "sent"
      })
      await testing(sending, null, {
        before: () => outbox.clear(),
        effects: { mail: { count: () => outbox.size, exactlyOnce: true } },
      })
    })

    test("finds one that does not happen on a bad day", async () => {
      const claimed = new Set<string>()
      let sent = 0
      const sending = single(async (_: null, ctx) => {
        const isFirst = !claimed.has("mail")
        claimed.add("mail")
        await ctx.sleep(1)
        if (isFirst) sent++
        return "sent"
      })
      await finds(sending, null, /effect "mail" happened 0 times; undisturbed, once/, {
        before: () => claimed.clear(),
        effects: { mail: () => sent },
      })
    })
  })
})

const fine = workflow("fine")
  .start(node("n", (n: number) => n))
  .build()

test.each<[string, () => Promise<unknown>, RegExp]>([
  ["crashTest", () => crashTest(fine, 1, { sedes: 3 } as never), /^crashTest: .*"seeds"\?$/],
  ["explore", () => explore(fine, 1, { fault: {} } as never), /^explore: .*"faults"\?$/],
  [
    "faults",
    () => explore(fine, 1, { faults: { crashes: 3 } } as never),
    /unknown option "crashes".*"crash"\?$/,
  ],
  ["simulate", () => simulate(fine, 1, { seed: 1, faults: 3 } as never), /faults must be an object/],
])("a misspelled option of %s is rejected before anything runs", async (_, call, message) => {
  await expect(call()).rejects.toMatchObject({
    code: "OPTION_INVALID",
    message: expect.stringMatching(message),
  })
})
