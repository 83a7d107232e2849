/** Stores that are encrypted with keys of the environment. */
import { describe, expect, test } from "vitest"
import { superstep } from "../test-io.test-support.ts"
import { withRuns } from "./stored-runs.test-support.ts"

const keyOf = (id: string, fill: number) => `${id}:${Buffer.alloc(32, fill).toString("base64")}`

describe("a store that is encrypted with SUPERSTEP_KEYS", () => {
  test("is encrypted, rotated, and needs its key", async () => {
    const io = await withRuns({ a: "one", b: "ask me" })
    const withKeys = (...keys: string[]) => ({ ...io, env: { ...io.env, SUPERSTEP_KEYS: keys.join(",") } })
    const [first, second] = [keyOf("first", 1), keyOf("second", 2)]
    expect((await superstep(["storage", "encrypt"], io)).stderr).toMatch(
      /opened without keys.*SUPERSTEP_KEYS/s,
    )
    const encrypted = await superstep(["storage", "encrypt"], withKeys(first))
    expect(encrypted.stdout).toMatch(/^Encrypted \d+ values\.\n$/)
    const locked = await superstep(["runs", "show", "a"], io)
    expect(locked.code).not.toBe(0)
    expect(locked.stderr).toMatch(/encrypted with key "first"/)
    expect((await superstep(["runs", "show", "a"], withKeys(first))).stdout).toContain("completed")
    const { stdout } = await superstep(["storage", "encrypt", "--json"], withKeys(second, first))
    expect(JSON.parse(stdout)).toEqual({ count: expect.any(Number) })
    const after = withKeys(second)
    expect((await superstep(["inbox"], after)).stdout).toContain("superstep respond b")
    expect((await superstep(["doctor", "--store"], after)).stdout).toMatch(/integrity +2 runs/)
    const doctor = await superstep(["doctor", "--store"], withKeys(keyOf("second", 9)))
    expect(doctor.stdout).toMatch(/Key "second" is not the key.*Set SUPERSTEP_KEYS/s)
    expect(doctor.stdout + locked.stderr).not.toContain(Buffer.alloc(32, 9).toString("base64"))
  })
})
