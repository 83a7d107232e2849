/** Errors as they were thrown: whole in the process that threw them, and with the same fields everywhere else. */
import { describe, expect, test } from "vitest"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import { memoryStore } from "../../stores/index.ts"
import type { RunError } from "./result.ts"

class PaymentError extends Error {
  readonly amount: number
  constructor(amount: number, options?: ErrorOptions) {
    super(`${amount} was declined`, options)
    this.amount = amount
  }
}

function pay(amount: number): never {
  const socket = Object.assign(new TypeError("socket closed"), { code: "ECONNRESET" })
  throw new PaymentError(amount, { cause: socket })
}

const paying = workflow("paying")
  .start(node("pay", (amount: number): number => pay(amount)))
  .build()

/** An error and what caused it, one after the other. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let one = error; one instanceof Error; one = one.cause) chain.push(one)
  return chain
}

const FIELDS = ["name", "code", "message", "node", "attempt", "retryable", "fatal", "limit"] as const

function fieldsOf(error: Error): Partial<Record<(typeof FIELDS)[number], unknown>> {
  return Object.fromEntries(FIELDS.map((field) => [field, (error as Error & Record<string, unknown>)[field]]))
}

async function failureOf(flow: Workflow<number, unknown>): Promise<RunError> {
  return (await flow.run(5).then(
    () => expect.unreachable(),
    (error) => error,
  )) as RunError
}

describe("in the process that threw it, an error keeps its class, causes and stack", () => {
  function checkPayment(error: unknown): void {
    const [payment, socket, ...more] = chainOf(error)
    expect(payment).toBeInstanceOf(PaymentError)
    expect(payment).toMatchObject({ amount: 5, message: "5 was declined" })
    expect(payment?.stack).toContain("at pay (")
    expect(socket).toBeInstanceOf(TypeError)
    expect(more).toEqual([])
  }

  test("of the run itself", async () => {
    const { cause, result } = await failureOf(paying)
    checkPayment(cause)
    expect(result.error?.cause).toBe(cause)
  })

  test("for a handler that calls the workflow", async () => {
    const seen: unknown[] = []
    const caller = node("caller", async (n: number, ctx) => {
      await ctx.call(paying, n).catch((error) => seen.push(error))
    })
    await workflow("w").start(caller).build().run(5)
    const [error] = seen as SuperstepError[]
    expect(error).toBeInstanceOf(SuperstepError)
    expect(error).toMatchObject({ code: "ERROR", message: expect.stringContaining('"paying"') })
    checkPayment(error?.cause)
  })

  test("through nodes that run workflows, several levels down", async () => {
    const middle = workflow("middle").start(paying.asNode()).build()
    const error = await failureOf(workflow("outer").start(middle.asNode()).build())
    const [outer, inMiddle, inPaying, ...payment] = chainOf(error)
    expect(outer).toBe(error)
    expect(inMiddle?.message).toContain('Sub-workflow "middle"')
    expect(inPaying?.message).toContain('Sub-workflow "paying"')
    checkPayment(payment[0])
  })

  test("with a store, too", async () => {
    const flow = workflow("outer").start(paying.asNode()).build()
    const { error } = await flow.run(5, { store: memoryStore() }).result
    checkPayment(chainOf(error)[2])
  })

  test("where the last of several attempts decides", async () => {
    const thrown: Error[] = []
    const flaky = node({
      id: "flaky",
      retry: { attempts: 2, delay: 0 },
      run: (): number => {
        thrown.push(new PaymentError(5))
        throw thrown.at(-1)
      },
    })
    const inner = workflow("inner").start(flaky).build()
    const error = await failureOf(workflow("outer").start(inner.asNode()).build())
    expect(thrown).toHaveLength(2)
    expect(chainOf(error).at(-1)).toBe(thrown[1])
  })

  test("of the task that ended the run, not of one that failed before with the same words", async () => {
    const [first, second] = [new PaymentError(5), new PaymentError(5)]
    const throwing = (id: string, error: Error) =>
      node(id, (_: number): number => {
        throw error
      })
    const start = node("start", (n: number) => n)
    const [caught, fatal] = [throwing("caught", first), throwing("fatal", second)]
    const flow = workflow("w")
      .start(start)
      .fanOut(start, [caught, fatal])
      .onError(
        caught,
        node("rescue", () => "rescued"),
      )
      .build()
    expect((await failureOf(flow)).cause).toBe(second)
  })

  test("of a reducer and of a caller's answer", async () => {
    const ask = workflow("ask")
      .start(node("ask", (_: number, ctx) => ctx.ask<number>("How much?")))
      .build()
    const answering = ask.asNode({ onRequest: () => pay(5) })
    const error = await failureOf(workflow("w").start(answering).build())
    const payment = chainOf(error).find((one) => one instanceof PaymentError)
    checkPayment(payment)
  })
})

describe("a result has the same error live and after a resume", () => {
  const failing = (error: unknown) =>
    node("failing", (_: number): number => {
      throw error
    })
  const flowOf = (error: unknown) => workflow("w").start(failing(error)).build()

  test.each<[string, Workflow<number, unknown>]>([
    ["an error of one's own", paying],
    ["an error that is not retryable", flowOf(new SuperstepError("NO", "no", { retryable: false }))],
    ["a fatal error", flowOf(new SuperstepError("NO", "no", { fatal: true, cause: new RangeError("x") }))],
    ["a limit", flowOf(new SuperstepError("NO", "no", { limit: true }))],
    ["a string", flowOf("only text")],
    ["an error of the system", flowOf(Object.assign(new Error("gone"), { code: "ENOENT" }))],
    ["a failed sub-workflow", workflow("w").start(paying.asNode()).build()],
    [
      "a sub-workflow at its limit",
      workflow("w")
        .start(flowOf(new SuperstepError("L", "l", { limit: true })).asNode())
        .build(),
    ],
    [
      "one two levels down",
      workflow("w").start(workflow("v").start(paying.asNode()).build().asNode()).build(),
    ],
    ["a run at its limit", loop()],
  ])("%s", async (_, flow) => {
    const store = memoryStore()
    const live = await flow.run(5, { store, runId: "r" }).result
    const resumed = await flow.resume("r", { store }).result
    expect(live.error).toBeDefined()
    expect(fieldsOf(resumed.error as Error)).toEqual(fieldsOf(live.error as Error))
    const [before, after] = [chainOf(live.error), chainOf(resumed.error)]
    expect(after.map(({ message }) => message)).toEqual(before.map(({ message }) => message))
  })

  function loop(): Workflow<number, unknown> {
    const on = node("on", (n: number) => n)
    return workflow("w", { limits: { supersteps: 3 } })
      .start(on)
      .loop(on, on, { while: () => true })
      .build()
  }

  test("with whether it can be retried, is fatal, or is a limit", async () => {
    const all = { retryable: false, fatal: true, limit: true }
    const { error } = await flowOf(new SuperstepError("NO", "no", all)).run(5).result
    expect(error).toMatchObject({ code: "NO", node: "failing", attempt: 1, ...all })
  })
})

describe("the journal", () => {
  test("has the names of errors, their causes' too", async () => {
    const store = memoryStore()
    await paying.run(5, { store, runId: "r" }).result
    const entries = (await store.read("r", 0)).map(({ entry }) => entry)
    const failed = entries.find(({ type }) => type === "task.failed")
    expect(failed).toMatchObject({
      error: { name: "PaymentError", cause: { name: "TypeError", code: "ECONNRESET" } },
    })
    expect((await paying.resume("r", { store }).result).error).toMatchObject({
      name: "PaymentError",
      cause: { name: "PaymentError", cause: { name: "TypeError" } },
    })
  })

  test("says of a failure below at which node it was, in the process that threw it as in any other", async () => {
    const store = memoryStore()
    const outer = workflow("outer").start(paying.asNode()).build()
    await outer.run(5, { store, runId: "r" }).result
    const entries = (await store.read("r", 0)).map(({ entry }) => entry)
    const failed = entries.findLast(({ type }) => type === "task.failed")
    expect(failed).toMatchObject({ error: { cause: { node: "pay", attempt: 1, name: "PaymentError" } } })
  })

  test("is read where it was written without names", async () => {
    const inner = memoryStore()
    await paying.run(5, { store: inner, runId: "r" }).result
    const nameless = (text: string) => text.replaceAll(/,"name":"(?:PaymentError|TypeError)"/g, "")
    const store = {
      ...inner,
      read: async (...args: Parameters<typeof inner.read>) =>
        JSON.parse(nameless(JSON.stringify(await inner.read(...args)))),
    }
    const { error } = await paying.resume("r", { store }).result
    expect(error).toMatchObject({ name: "SuperstepError", message: "5 was declined", node: "pay" })
  })
})
