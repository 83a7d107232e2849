import { describe, expect, onTestFinished, test } from "vitest"
import { manualClock } from "../testing/index.ts"
import { pause, untilAborted, withTimeLimit } from "./time-limit.ts"

const never = new Promise<never>(() => undefined)
const timedOut = () => new Error("too slow")

describe("a time limit", () => {
  test("ends work that ignores its signal, and leaves no timer behind", async () => {
    const clock = manualClock()
    let seen: AbortSignal | undefined
    const limited = withTimeLimit({ clock, milliseconds: 100, timedOut }, (signal) => {
      seen = signal
      return never
    })
    const ended = expect(limited).rejects.toThrow("too slow")
    await clock.advance(99)
    expect(seen?.aborted).toBe(false)
    await clock.advance(1)
    await ended
    expect([seen?.aborted, clock.pending]).toEqual([true, 0])
  })

  test("ends with its caller's signal and its reason, and leaves no timer behind", async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const limited = withTimeLimit({ clock, milliseconds: 100, signal: stop.signal, timedOut }, () => never)
    stop.abort(new Error("no longer needed"))
    await expect(limited).rejects.toThrow("no longer needed")
    expect(clock.pending).toBe(0)
  })

  test("does not start the work or a timer if the signal is already aborted", async () => {
    const clock = manualClock()
    let began = false
    const limited = withTimeLimit(
      { clock, milliseconds: 100, signal: AbortSignal.abort(new Error("gone")), timedOut },
      async () => {
        began = true
      },
    )
    await expect(limited).rejects.toThrow("gone")
    expect([began, clock.pending]).toEqual([false, 0])
  })

  test("returns the result of the work, or throws its error at once", async () => {
    const clock = manualClock()
    const limit = { clock, milliseconds: 100, timedOut }
    expect(await withTimeLimit(limit, async () => 7)).toBe(7)
    const broken = withTimeLimit(limit, () => {
      throw new Error("broken")
    })
    await expect(broken).rejects.toThrow("broken")
    expect(clock.pending).toBe(0)
  })
})

test("a pause ends with its time or with its signal", async () => {
  const clock = manualClock()
  const over = pause(clock, 50, new AbortController().signal)
  await clock.advance(50)
  await over
  const stop = new AbortController()
  const stopped = pause(clock, 50, stop.signal)
  stop.abort(new Error("enough"))
  await expect(stopped).rejects.toThrow("enough")
  expect(clock.pending).toBe(0)
})

test("stopping to wait does not stop the work, and its failure is handled", async () => {
  const stop = new AbortController()
  let fail!: (error: Error) => void
  const work = new Promise<never>((_, reject) => {
    fail = reject
  })
  const waiting = untilAborted(work, stop.signal)
  stop.abort(new Error("left"))
  await expect(waiting).rejects.toThrow("left")
  fail(new Error("later"))
  await expect(work).rejects.toThrow("later")
})

test("a failure of abandoned work is not an unhandled rejection", async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown) => void unheard.push(reason)
  process.on("unhandledRejection", hear)
  onTestFinished(() => void process.off("unhandledRejection", hear))
  const late = Promise.reject(new Error("late"))
  await expect(untilAborted(late, AbortSignal.abort(new Error("given up")))).rejects.toThrow("given up")
  await new Promise((resolve) => setImmediate(resolve))
  expect(unheard).toEqual([])
})
