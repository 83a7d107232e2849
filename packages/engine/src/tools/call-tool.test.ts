import { describe, expect, test } from "vitest"
import { z } from "zod"
import { node, type Schema, SuperstepError, workflow } from "../index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { callContext, inTask } from "./call-context.test-support.ts"
import { callTool, readArgs, type ToolOutcome } from "./call-tool.ts"
import type { ToolCallContext } from "./tool.ts"
import { type ToolOptions, tool } from "./tool.ts"

type Run = ToolOptions<Record<string, unknown>>["run"]

const made = (run: Run, options: Partial<ToolOptions<Record<string, unknown>>> = {}) =>
  tool({ name: "t", description: "Does it.", input: z.looseObject({}), ...options, run })

/** A tool whose attempts the test settles. */
function driven(options: Partial<ToolOptions<Record<string, unknown>>> = {}) {
  const attempts: { resolve(value: unknown): void; reject(error: unknown): void; call: ToolCallContext }[] =
    []
  const one = made(
    (_, call) => new Promise((resolve, reject) => attempts.push({ resolve, reject, call })),
    options,
  )
  return { one, attempts }
}

/** The outcome of a call, once it has settled. */
function watched(outcome: Promise<ToolOutcome>) {
  const seen: { value?: ToolOutcome; error?: unknown } = {}
  outcome.then(
    (value) => Object.assign(seen, { value }),
    (error: unknown) => Object.assign(seen, { error }),
  )
  return seen
}

describe("reading arguments", () => {
  const strict = tool({
    name: "t",
    description: "Does it.",
    input: z.object({ a: z.number().optional() }),
    run: () => 1,
  })

  test("accepts JSON, and an empty string as no arguments", async () => {
    expect(await readArgs(strict, '{ "a": 1 }')).toEqual({ ok: true, args: { a: 1 } })
    expect(await readArgs(strict, "")).toEqual({ ok: true, args: {} })
    expect(await readArgs(strict, " \n")).toEqual({ ok: true, args: {} })
  })

  test("reports to the model why they cannot be parsed", async () => {
    expect(await readArgs(strict, '{ "a": ')).toMatchObject({ ok: false, reason: /not JSON/ })
    expect(await readArgs(strict, '{ "a": "1" }')).toMatchObject({ ok: false, reason: /^a: / })
    expect(await readArgs(strict, "null")).toMatchObject({ ok: false })
    expect(await readArgs(strict, `"${"x".repeat(1_000_001)}"`)).toMatchObject({
      ok: false,
      reason: /at most/,
    })
    const deep = "[".repeat(100_000) + "]".repeat(100_000)
    expect(await readArgs(strict, `{ "a": ${deep} }`)).toMatchObject({ ok: false })
  })
})

describe("calling a tool", () => {
  test("returns its result, now or later", async () => {
    const later = made(async () => ({ b: 2 }))
    expect(
      await callTool(
        made(() => ({ a: 1 })),
        {},
        callContext(),
      ),
    ).toEqual({ ok: true, value: { a: 1 } })
    expect(await callTool(later, {}, callContext())).toEqual({ ok: true, value: { b: 2 } })
    expect(
      await callTool(
        made(() => undefined),
        {},
        callContext(),
      ),
    ).toEqual({ ok: true, value: null })
  })

  test("returns its failure as an outcome, whatever is thrown (C1)", async () => {
    const thrown: [unknown, object][] = [
      [new Error("no such city"), { code: "ERROR", message: "no such city" }],
      ["plain text", { message: "plain text" }],
      [undefined, {}],
      [new SuperstepError("MINE", "on purpose", { retryable: false }), { code: "MINE", retryable: false }],
      [new DOMException("it stopped", "AbortError"), { message: "it stopped" }],
    ]
    for (const [error, expected] of thrown) {
      const sync = made(() => {
        throw error
      })
      const later = made(() => Promise.reject(error))
      for (const one of [sync, later]) {
        const outcome = await callTool(one, {}, callContext())
        expect(outcome).toMatchObject({ ok: false, error: expected })
      }
    }
  })

  test("a fatal tool's failure is thrown (C1)", async () => {
    const fatal = made(() => Promise.reject(new Error("disk gone")), { fatal: true })
    await expect(callTool(fatal, {}, callContext())).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: 'Tool "t" failed: disk gone',
      cause: { message: "disk gone" },
    })
  })

  test("a reached limit and an error marked as fatal are thrown, not returned to the model (C1)", async () => {
    for (const marks of [{ limit: true }, { fatal: true }]) {
      const error = new SuperstepError("BUDGET", "used up", marks)
      const one = made(() => Promise.reject(error), { retry: { attempts: 5, delay: 0 } })
      await expect(callTool(one, {}, callContext())).rejects.toBe(error)
    }
  })
})

describe("a tool's time", () => {
  test("runs out: it is stopped and not waited for (C2)", async () => {
    const clock = manualClock()
    const { one, attempts } = driven({ timeout: 1_000 })
    const seen = watched(callTool(one, {}, callContext(), { clock }))
    await clock.advance(999)
    expect(seen).toEqual({})
    expect(attempts[0]?.call.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(seen.value).toMatchObject({ ok: false, error: { code: "TOOL_TIMEOUT" } })
    expect(attempts[0]?.call.signal.reason).toMatchObject({ code: "TOOL_TIMEOUT" })
    attempts[0]?.reject(new Error("too late"))
    await settled()
    expect(clock.pending).toBe(0)
  })

  test("starts anew with every attempt, and the late result of an earlier attempt is dropped (C2)", async () => {
    const clock = manualClock()
    const { one, attempts } = driven({ timeout: 1_000, retry: { attempts: 2, delay: 500 } })
    const seen = watched(callTool(one, {}, callContext(), { clock }))
    await clock.advance(1_000)
    await clock.advance(500)
    expect(attempts).toHaveLength(2)
    attempts[0]?.resolve("late")
    await clock.advance(999)
    expect(seen).toEqual({})
    attempts[1]?.resolve("in time")
    await settled()
    expect(seen.value).toEqual({ ok: true, value: "in time" })
    expect(clock.pending).toBe(0)
  })

  test("pauses while a person is asked, and continues afterwards", async () => {
    const clock = manualClock()
    const work: { call?: ToolCallContext; done?: (value: unknown) => void } = {}
    const asking = made(
      async (_, call) => {
        const answer = await call.ctx.scope("inner").ask("Continue?")
        work.call = call
        await new Promise((resolve) => {
          work.done = resolve
        })
        return answer
      },
      { timeout: 1_000 },
    )
    const only = node("only", (_: string, ctx) =>
      callTool(asking, {}, callContext({ ctx, signal: ctx.signal }), { clock }),
    )
    const run = workflow("w").chain(only).build().run("go", { clock })
    await run
    await clock.advance(60_000)
    await run.respond("r1", "yes")
    await settled()
    expect(work.call?.signal.aborted).toBe(false)
    await clock.advance(1_000)
    expect((await run).outputs).toMatchObject([{ ok: false, error: { code: "TOOL_TIMEOUT" } }])
  })

  test("is the run's clock by default", async () => {
    const clock = manualClock()
    const { one, attempts } = driven({ timeout: 1_000 })
    const only = node("only", (_: string, ctx) => callTool(one, {}, callContext({ ctx })))
    const run = workflow("w").chain(only).build().run("go", { clock })
    await clock.advance(1_000)
    expect(attempts[0]?.call.signal.aborted).toBe(true)
    expect((await run).outputs).toMatchObject([{ ok: false, error: { code: "TOOL_TIMEOUT" } }])
  })

  test("does not hide the rest of the context", async () => {
    const looks = made(
      async (_, { ctx }) => {
        ctx.local.set("seen", 1)
        const { step } = ctx
        return [ctx.node, ctx.local.get("seen"), await step("s", () => 2), ctx.attempt]
      },
      { timeout: 1_000 },
    )
    const result = await inTask((ctx) => callTool(looks, {}, callContext({ ctx })))
    expect(result.outputs).toEqual([{ ok: true, value: ["only", 1, 2, 1] }])
  })
})

describe("retrying", () => {
  test("follows the policy, with one idempotency key for all attempts", async () => {
    const clock = manualClock()
    const { one, attempts } = driven({ retry: { attempts: 3, delay: 100, backoff: "exponential" } })
    const seen = watched(callTool(one, {}, callContext(), { clock }))
    attempts[0]?.reject(new Error("first"))
    await clock.advance(99)
    expect(attempts).toHaveLength(1)
    await clock.advance(1)
    attempts[1]?.reject(new Error("second"))
    await clock.advance(200)
    attempts[2]?.reject(new Error("third"))
    await settled()
    expect(seen.value).toMatchObject({ ok: false, error: { message: "third" } })
    expect(new Set(attempts.map(({ call }) => call.idempotencyKey)).size).toBe(1)
  })

  test("does not happen without a policy, nor for errors that are not retryable", async () => {
    const tries = { count: 0 }
    const counting = (error: Error, options: Partial<ToolOptions<Record<string, unknown>>>) =>
      made(() => {
        tries.count++
        throw error
      }, options)
    await callTool(counting(new Error("x"), {}), {}, callContext())
    expect(tries.count).toBe(1)
    const hopeless = new SuperstepError("X", "x", { retryable: false })
    await callTool(counting(hopeless, { retry: { attempts: 3, delay: 0 } }), {}, callContext())
    expect(tries.count).toBe(2)
  })

  test("does not happen for an invalid result: the tool has done its work", async () => {
    const tries = { count: 0 }
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    const one = made(
      () => {
        tries.count++
        return cyclic
      },
      { retry: { attempts: 3, delay: 0 } },
    )
    expect(await callTool(one, {}, callContext())).toMatchObject({
      ok: false,
      error: { code: "TOOL_RESULT_INVALID" },
    })
    expect(tries.count).toBe(1)
  })
})

describe("a task that is stopped", () => {
  test("stops the running tool, and the call throws the reason (C1)", async () => {
    const stop = new AbortController()
    const { one, attempts } = driven({ timeout: 1_000 })
    const clock = manualClock()
    const seen = watched(callTool(one, {}, callContext({ signal: stop.signal }), { clock }))
    const reason = new SuperstepError("CANCELLED", "stopped")
    stop.abort(reason)
    await settled()
    expect(seen.error).toBe(reason)
    expect(attempts[0]?.call.signal.reason).toBe(reason)
    expect(clock.pending).toBe(0)
  })

  test("ends the wait between two attempts, and starts none (C1)", async () => {
    const stop = new AbortController()
    const clock = manualClock()
    const { one, attempts } = driven({ retry: { attempts: 3, delay: 1_000 } })
    const seen = watched(callTool(one, {}, callContext({ signal: stop.signal }), { clock }))
    attempts[0]?.reject(new Error("x"))
    await settled()
    expect(clock.pending).toBe(1)
    stop.abort(new SuperstepError("CANCELLED", "stopped"))
    await settled()
    expect(seen.error).toMatchObject({ code: "CANCELLED" })
    expect([clock.pending, attempts.length]).toEqual([0, 1])
    await expect(callTool(one, {}, callContext({ signal: stop.signal }))).rejects.toMatchObject({
      code: "CANCELLED",
    })
    expect(attempts).toHaveLength(1)
  })

  test("takes precedence over a failure that it causes", async () => {
    const stop = new AbortController()
    const one = made(() => {
      stop.abort(new SuperstepError("CANCELLED", "stopped"))
      throw new Error("socket closed")
    })
    await expect(callTool(one, {}, callContext({ signal: stop.signal }))).rejects.toMatchObject({
      code: "CANCELLED",
    })
  })
})

describe("secrets", () => {
  const token = "s3cr3t/t0ken+x"
  const args = { auth: { token }, pin: 48_151_623 }
  const secret = ["token", "pin"]

  test("are not in a tool's result, in any form (C3)", async () => {
    const echo = made(
      () => ({
        text: `used ${token}`,
        url: `https://x/?t=${encodeURIComponent(token)}`,
        basic: Buffer.from(token).toString("base64"),
        [token]: [token, 48_151_623, { pin: "48151623" }],
      }),
      { secret },
    )
    const text = JSON.stringify(await callTool(echo, args, callContext()))
    for (const form of [
      token,
      encodeURIComponent(token),
      Buffer.from(token).toString("base64"),
      "48151623",
    ]) {
      expect(text).not.toContain(form)
    }
    expect(text).toContain("used [secret]")
  })

  test("are not in its error, nor in the causes, even if it is fatal (C3)", async () => {
    const fails = (fatal: boolean) =>
      made(() => Promise.reject(new Error(`401 for ${token}`, { cause: new Error(`bad ${token}`) })), {
        secret,
        fatal,
      })
    const outcome = await callTool(fails(false), args, callContext())
    const error = (await callTool(fails(true), args, callContext()).catch((thrown) => thrown)) as Error
    expect(JSON.stringify(outcome)).not.toContain(token)
    expect(`${error.message} ${String(error.cause)} ${String((error.cause as Error).cause)}`).not.toContain(
      token,
    )
    expect(outcome).toMatchObject({ ok: false, error: { message: "401 for [secret]" } })
  })

  test("are not in the reason why arguments are invalid", async () => {
    const schema: Schema<Record<string, unknown>> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value) => ({ issues: [{ message: `${JSON.stringify(value)} does not fit` }] }),
      },
    }
    const picky = made(() => null, { secret, input: schema, parameters: { type: "object" } })
    for (const text of [`{"token":${token}}`, token, `{"token":"${token}"}`]) {
      const read = await readArgs(picky, text)
      expect([read.ok, JSON.stringify(read)]).toEqual([false, expect.not.stringMatching(/s3cr3t|t0ken/)])
    }
  })

  test("are not left in part when an error is cut (C3)", async () => {
    for (let before = 3_980; before <= 4_000; before++) {
      const fails = made(() => Promise.reject(new Error(`${"x".repeat(before)}${token} and more`)), {
        secret,
      })
      expect(JSON.stringify(await callTool(fails, args, callContext()))).not.toContain("s3cr")
    }
  })

  test("are not left in part when a result is cut (C3)", async () => {
    const echo = made(() => `${"x".repeat(95)}${token}`, { secret })
    const outcome = await callTool(echo, args, callContext(), { maxResult: 100 })
    expect(JSON.stringify(outcome)).not.toContain("s3cr")
  })
})
