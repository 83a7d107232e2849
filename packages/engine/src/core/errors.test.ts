import { describe, expect, test, vi } from "vitest"
import { fromErrorData, isSuperstepError, SuperstepError, toErrorData } from "./errors.ts"

describe("an error as data", () => {
  test("keeps code, message and causes, and no stack", () => {
    const cause = Object.assign(new Error("socket closed"), { code: "ECONNRESET" })
    const data = toErrorData(new SuperstepError("FETCH", "no page", { cause, retryable: false }))
    expect(data).toEqual({
      code: "FETCH",
      message: "no page",
      retryable: false,
      cause: { code: "ECONNRESET", message: "socket closed" },
    })
    expect(JSON.parse(JSON.stringify(data))).toEqual(data)
  })

  test("gives ERROR where there is no code in words", () => {
    expect(toErrorData(new Error("x"))).toEqual({ code: "ERROR", message: "x" })
    expect(toErrorData(Object.assign(new Error("x"), { code: 42 })).code).toBe("ERROR")
    expect(toErrorData(Object.assign(new Error("x"), { code: "" })).code).toBe("ERROR")
  })

  test.each<[string, unknown, RegExp]>([
    ["a string", "just text", /^just text$/],
    ["undefined", undefined, /undefined was thrown/],
    ["null", null, /null was thrown/],
    ["an object", { reason: "odd" }, /"reason":"odd"/],
    ["a BigInt", 1n, /bigint was thrown/],
    ["an error without a message", new TypeError(), /TypeError/],
  ])("can be made of %s", (_, thrown, message) => {
    expect(toErrorData(thrown).message).toMatch(message)
  })

  test("can be made of an object that contains itself", () => {
    const loop: Record<string, unknown> = {}
    loop.self = loop
    expect(toErrorData(loop).message).toMatch(/object was thrown/)
  })

  test("ends where causes go round, and cuts a message that is too long", () => {
    const error = new Error("round")
    error.cause = error
    let depth = 0
    for (let at = toErrorData(error); at.cause !== undefined; at = at.cause) depth++
    expect(depth).toBeLessThanOrEqual(5)
    expect(toErrorData(new Error("x".repeat(1e6))).message.length).toBeLessThan(5_000)
  })
})

test("an error that comes back from data has what it had", () => {
  const data = { code: "A", message: "m", node: "n", attempt: 2, cause: { code: "B", message: "c" } }
  const error = fromErrorData(data)
  expect(error).toBeInstanceOf(SuperstepError)
  expect(error).toMatchObject({ code: "A", message: "m", node: "n", attempt: 2 })
  expect(error.cause).toMatchObject({ code: "B", message: "c" })
})

test("the family is recognised by its code, also across copies of the library", async () => {
  vi.resetModules()
  const copy = await import("./errors.ts")
  const [error, other] = [new SuperstepError("TIMEOUT", "late"), new copy.SuperstepError("TIMEOUT", "late")]
  expect(other).not.toBeInstanceOf(SuperstepError)
  for (const one of [error, other]) {
    expect(isSuperstepError(one)).toBe(true)
    expect(isSuperstepError(one, "TIMEOUT")).toBe(true)
    expect(isSuperstepError(one, "OTHER")).toBe(false)
  }
  expect(isSuperstepError(new Error("plain"))).toBe(false)
  expect(isSuperstepError({ code: "TIMEOUT" })).toBe(false)
})

test("an error of the system with a code of its own is not of the family", () => {
  const missing = Object.assign(new Error("no such file"), { code: "ENOENT", errno: -2, syscall: "open" })
  expect(isSuperstepError(missing)).toBe(false)
})
