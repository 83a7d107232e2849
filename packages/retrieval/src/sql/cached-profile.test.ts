import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { cachedProfile, type Fingerprint, type ProfiledSource } from "./profile-tables.ts"

const PROFILE = { tables: [{ name: "vsl", columns: [{ name: "nm", type: "text", values: ["Halifax"] }] }] }

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "profiles-"))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Counts how often the data was sampled. */
function source(options: ProfiledSource["options"], more: Partial<ProfiledSource> = {}) {
  const state = { looks: 0, seen: { shape: "a", parts: { vsl: [100, 1_000] } } as Fingerprint, time: 0 }
  const profile = cachedProfile({
    identity: "port",
    options,
    fingerprint: async () => state.seen,
    look: async () => {
      state.looks += 1
      return PROFILE
    },
    now: () => state.time,
    ...more,
  })
  return { state, profile }
}

const cacheFile = (cache: string) => readdirSync(cache).filter((name) => name.endsWith(".json"))

test("a profile is created once, and read by the next process", async () => {
  const cache = folder()
  const one = source({ cache })
  expect(await one.profile()).toEqual(PROFILE)
  expect(await one.profile()).toEqual(PROFILE)
  const other = source({ cache })
  expect(await other.profile()).toEqual(PROFILE)
  expect([one.state.looks, other.state.looks]).toEqual([1, 0])
})

test.skipIf(process.platform === "win32")("only its owner can read its file", async () => {
  const cache = folder()
  await source({ cache }).profile()
  const [name = ""] = cacheFile(cache)
  expect(statSync(join(cache, name)).mode & 0o777).toBe(0o600)
  expect(readdirSync(cache).sort()).toEqual([".gitignore", name])
})

test("a profile is created again if the schema changes, the data changes by more than a tenth, or a day has passed", async () => {
  const { profile, state } = source({})
  await profile()
  state.seen = { shape: "a", parts: { vsl: [190, 1_000] } }
  await profile()
  expect(state.looks).toBe(1)
  state.seen = { shape: "a", parts: { vsl: [250, 1_000] } }
  await profile()
  expect(state.looks).toBe(2)
  state.seen = { ...state.seen, shape: "b" }
  await profile()
  expect(state.looks).toBe(3)
  state.time = 86_399_999
  await profile()
  expect(state.looks).toBe(3)
  state.time += 1
  await profile()
  expect(state.looks).toBe(4)
})

test("an incomplete profile is created again after ten minutes", async () => {
  const { profile, state } = source({}, { look: async () => ({ ...PROFILE, incomplete: "late" }) })
  expect((await profile()).incomplete).toBe("late")
  let looks = 0
  const again = source({}, { look: async () => ({ ...PROFILE, incomplete: `late ${++looks}` }) })
  await again.profile()
  again.state.time = 599_999
  expect((await again.profile()).incomplete).toBe("late 1")
  again.state.time = 600_000
  expect((await again.profile()).incomplete).toBe("late 2")
  expect(state.looks).toBe(0)
})

test("other excluded columns have another profile", async () => {
  const cache = folder()
  await source({ cache }).profile()
  const other = source({ cache, excludeColumns: ["vsl.nm"] })
  await other.profile()
  expect(other.state.looks).toBe(1)
  expect(cacheFile(cache)).toHaveLength(2)
})

test.each([
  "",
  "{",
  '{"version":0}',
  '{"version":1,"at":0,"fingerprint":{"shape":"a","parts":{}},"profile":{"tables":[1]}}',
])("a damaged file counts as missing: %s", async (text) => {
  const cache = folder()
  await source({ cache }).profile()
  const [name = ""] = cacheFile(cache)
  writeFileSync(join(cache, name), text)
  const other = source({ cache })
  expect(await other.profile()).toEqual(PROFILE)
  expect(other.state.looks).toBe(1)
  expect(JSON.parse(readFileSync(join(cache, name), "utf8")).profile).toEqual(PROFILE)
})

test("a read-only folder does not prevent a profile", async () => {
  const file = join(folder(), "file")
  writeFileSync(file, "")
  expect(await source({ cache: join(file, "below") }).profile()).toEqual(PROFILE)
})

test("concurrent callers share one profile, which an aborted one does not end", async () => {
  let resolve: (profile: typeof PROFILE) => void = () => undefined
  const looked = new Promise<typeof PROFILE>((done) => {
    resolve = done
  })
  let looks = 0
  const { profile } = source(
    {},
    {
      look: () => {
        looks += 1
        return looked
      },
    },
  )
  const leave = new AbortController()
  const left = profile({ signal: leave.signal })
  const stays = profile()
  await Promise.resolve()
  leave.abort(new Error("left"))
  await expect(left).rejects.toThrow("left")
  resolve(PROFILE)
  expect(await stays).toEqual(PROFILE)
  expect(looks).toBe(1)
})
