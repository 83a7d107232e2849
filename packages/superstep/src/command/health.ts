/** What `superstep doctor` looks at. Nothing is left of what it tries. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { StorageReport } from "@superstep/engine"
import { duration } from "./figures.ts"
import { installedVersion } from "./installed.ts"
import type { Io } from "./io.ts"
import { openStore, storeAddress } from "./open-store.ts"
import { hasKey, KNOWN_PROVIDERS } from "./providers.ts"

export interface Finding {
  readonly state: "ok" | "warn" | "fail"
  readonly what: string
  readonly is: string
  /** What to do about it. */
  readonly todo?: string | undefined
}

const LEAST_DISK = 100_000_000

export async function* findings(io: Io, store: string | undefined): AsyncGenerator<Finding> {
  yield nodeVersion(process.versions.node)
  yield await driver()
  yield await storeState(io, store)
  yield* await quarantined(io, store)
  yield disk(io, store)
  yield* providers(io)
  yield typescript(io.cwd, process.versions.node)
  yield mcp(io.cwd)
  yield await selfTest()
}

export function nodeVersion(version: string): Finding {
  const isEnough = isAtLeast(version, 20, 19)
  return {
    state: isEnough ? "ok" : "fail",
    what: "node",
    is: version,
    todo: isEnough ? undefined : "Use Node 20.19 or later.",
  }
}

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version.split(".").map(Number)
  return first > major || (first === major && second >= minor)
}

/** By a store that is made aside, and gone at once. */
async function driver(): Promise<Finding> {
  const what = "sqlite"
  const folder = mkdtempSync(join(tmpdir(), "superstep-doctor-"))
  try {
    const { sqliteStore } = await import("@superstep/store-sqlite")
    await sqliteStore({ path: join(folder, "try.db") }).close()
    const isBuiltIn = process.getBuiltinModule("node:sqlite") !== undefined
    return { state: "ok", what, is: isBuiltIn ? "node:sqlite, built in" : "libsql" }
  } catch (error) {
    return { state: "fail", what, is: messageOf(error), todo: "Use Node 22.13 or later, which has SQLite." }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function storeState({ cwd }: Io, url: string | undefined): Promise<Finding> {
  const what = "store"
  try {
    const address = storeAddress(url, cwd)
    if (address.path === undefined) return { state: "ok", what, is: "in memory: nothing is kept" }
    if (!existsSync(address.path)) return notYet(address.path)
    const runs = await runsIn(url, cwd)
    const count = Object.values(runs).reduce((sum, one) => sum + one, 0)
    return {
      state: "ok",
      what,
      is: `${address.path}, ${count} ${count === 1 ? "run" : "runs"}, can be written`,
    }
  } catch (error) {
    return {
      state: "fail",
      what,
      is: messageOf(error),
      todo: "Mend it, or choose another with --store sqlite:PATH.",
    }
  }
}

/** Runs that wait for a person to look at them. */
async function quarantined({ cwd }: Io, url: string | undefined): Promise<Finding[]> {
  const path = pathOf(url, cwd)
  if (path === undefined || !existsSync(path)) return []
  try {
    const { quarantined: count = 0 } = await runsIn(url, cwd)
    if (count === 0) return []
    const is = `${count} quarantined: executing each time their process died`
    const todo = "superstep runs list --status quarantined, then superstep runs release RUN."
    return [{ state: "warn", what: "runs", is, todo }]
  } catch {
    // The line above this one says what is wrong with the store.
    return []
  }
}

async function runsIn(url: string | undefined, cwd: string): Promise<StorageReport["runs"]> {
  const opened = await openStore(url, cwd)
  try {
    return (await opened.report()).runs
  } finally {
    await opened.close()
  }
}

/** Undefined for memory, and for what is no address: `storeState` tells about that. */
function pathOf(url: string | undefined, cwd: string): string | undefined {
  try {
    return storeAddress(url, cwd).path
  } catch {
    return undefined
  }
}

function existingFolder(path: string): string {
  let folder = path
  while (!existsSync(folder)) folder = dirname(folder)
  return folder
}

function notYet(path: string): Finding {
  const folder = existingFolder(dirname(path))
  try {
    accessSync(folder, constants.W_OK)
    return { state: "ok", what: "store", is: `${path} is made by the first run` }
  } catch {
    const todo = "See to its permissions, or choose another place with --store sqlite:PATH."
    return { state: "fail", what: "store", is: `${folder} cannot be written`, todo }
  }
}

/** Of the place where runs are kept. */
function disk({ cwd }: Io, url: string | undefined): Finding {
  const { bavail, bsize } = statfsSync(existingFolder(pathOf(url, cwd) ?? cwd))
  const free = bavail * bsize
  const isEnough = free >= LEAST_DISK
  return {
    state: isEnough ? "ok" : "warn",
    what: "disk",
    is: `${(free / 1e9).toFixed(1)} GB free`,
    todo: isEnough ? undefined : "Make room: a run stops where its journal cannot be written.",
  }
}

function* providers({ env, cwd }: Io): Generator<Finding> {
  let isAnyReady = false
  for (const { name, package: wanted, variable } of KNOWN_PROVIDERS) {
    const version = installedVersion(wanted, cwd)
    const key = variable !== undefined && hasKey(env, variable)
    if (key && version !== undefined) {
      isAnyReady = true
      yield { state: "ok", what: name, is: `${variable} is set, ${wanted} ${version}` }
    } else if (key) {
      yield {
        state: "warn",
        what: name,
        is: `${variable} is set, its package is missing`,
        todo: `npm i ${wanted}`,
      }
    }
  }
  if (isAnyReady) return
  const todo = "Set OPENAI_API_KEY or ANTHROPIC_API_KEY; superstep models tells more."
  yield { state: "warn", what: "models", is: "no key is set: only the offline model can answer", todo }
}

function typescript(cwd: string, version: string): Finding {
  const what = "modules"
  if (isAtLeast(version, 22, 18)) return { state: "ok", what, is: "Node runs TypeScript by itself" }
  const tsx = installedVersion("tsx", cwd)
  if (tsx !== undefined) return { state: "ok", what, is: `tsx ${tsx} runs TypeScript` }
  return {
    state: "warn",
    what,
    is: "TypeScript modules cannot be run",
    todo: "npm i -D tsx, or Node 22.18 or later.",
  }
}

function mcp(cwd: string): Finding {
  const version = installedVersion("@superstep/mcp", cwd)
  if (version !== undefined) return { state: "ok", what: "mcp", is: `@superstep/mcp ${version}` }
  const todo = "npm i @superstep/mcp, for toolsets of type mcp."
  return { state: "ok", what: "mcp", is: "@superstep/mcp is not installed", todo }
}

const TWO_STEPS = `
agents:
  one: { model: offline, instruction: Say something. }
  two: { model: offline, instruction: Say it again. }
workflow:
  - { type: agent, name: one }
  - { type: agent, name: two }
`

async function selfTest(): Promise<Finding> {
  const what = "run"
  const started = performance.now()
  try {
    const { loadDefinition } = await import("@superstep/engine/definitions")
    const { tellOffline } = await import("@superstep/engine/models")
    tellOffline({ isTTY: true, write: () => true })
    const { definition, diagnostics } = loadDefinition({ file: "self-test.yaml", text: TWO_STEPS })
    if (definition === undefined) throw new Error(diagnostics[0]?.message)
    const { status, error } = await definition.workflow.run("Hello.").result
    if (status !== "completed") throw error
    return { state: "ok", what, is: `two steps, loaded and run in ${duration(performance.now() - started)}` }
  } catch (error) {
    return { state: "fail", what, is: messageOf(error), todo: "Install superstep again; then tell us." }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
