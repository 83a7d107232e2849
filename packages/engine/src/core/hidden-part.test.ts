import { inspect } from "node:util"
import { describe, expect, it } from "vitest"
import { HiddenPart } from "./hidden-part.ts"

describe("a hidden part", () => {
  it("is found by its owner alone, and the last one counts", () => {
    const part = new HiddenPart<object, string>()
    const [owner, other] = [{ code: "ERROR" }, { code: "ERROR" }]
    part.set(owner, "first")
    part.set(owner, "last")
    expect([part.get(owner), part.get(other), part.get({ ...owner })]).toEqual(["last", undefined, undefined])
  })

  it("is not shown, copied or compared", () => {
    const owner = new Error("meant to fail")
    const shown = inspect(owner)
    new HiddenPart<Error, string>().set(owner, "secret")
    expect(inspect(owner)).toBe(shown)
    expect({ ...owner }).toStrictEqual({})
    expect(JSON.stringify(owner)).toBe("{}")
    expect(structuredClone(owner)).toStrictEqual(new Error("meant to fail"))
  })

  it("is kept for a frozen owner too", () => {
    const part = new HiddenPart<object, string>()
    const owner = Object.freeze(new Error("meant to fail"))
    part.set(owner, "part")
    expect(part.get(owner)).toBe("part")
  })
})
