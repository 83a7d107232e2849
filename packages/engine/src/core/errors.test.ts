import { describe, expect, test } from "vitest"
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

  test("has the name of its class, where that says more than the family", () => {
    class Unnamed extends Error {}
    class Named extends Error {
      override name = "PaymentError"
    }
    expect(toErrorData(new Unnamed("x")).name).toBe("Unnamed")
    expect(toErrorData(new Named("x")).name).toBe("PaymentError")
    expect(toErrorData(new TypeError("x")).name).toBe("TypeError")
    expect(toErrorData(new Error("x"))).not.toHaveProperty("name")
    expect(toErrorData(new SuperstepError("A", "x"))).not.toHaveProperty("name")
    expect(toErrorData(Object.assign(new Error("x"), { name: "n".repeat(1e6) })).name?.length).toBe(201)
    expect(toErrorData(Object.assign(new Error("x"), { name: 5 }))).not.toHaveProperty("name")
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
  const data = {
    code: "A",
    name: "N",
    message: "m",
    node: "n",
    attempt: 2,
    cause: { code: "B", message: "c" },
  }
  const error = fromErrorData(data)
  expect(error).toBeInstanceOf(SuperstepError)
  expect(error).toMatchObject({ code: "A", name: "N", message: "m", node: "n", attempt: 2 })
  expect(error.cause).toMatchObject({ code: "B", message: "c" })
})

test("the family is recognised by its code, also across copies of the library", async () => {
  // The query makes it another module. Other test files share the modules of this one.
  const path = "./errors.ts?copy"
  const copy: typeof import("./errors.ts") = await import(/* @vite-ignore */ path)
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

test("a long message is cut between characters, never inside one", () => {
  for (const start of [3_998, 3_999, 4_000]) {
    const { message } = toErrorData(new Error(`${"x".repeat(start)}🍵🍵`))
    expect(message).not.toMatch(/\p{Surrogate}/u)
    expect(message.endsWith("…")).toBe(true)
  }
})
