/** `superstep doctor`: checks the installation and the store, and suggests a fix for every problem. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { isSuperstepError } from "@superstep/engine"
import { MODEL_PROVIDERS } from "@superstep/engine/packages"
import { Command } from "commander"
import { type Cli, EXIT, type Io } from "../cli.ts"
import { complete, type OutputFlags, outputFlags } from "../flags.ts"
import { hasKey, installedVersion } from "../open/choose-models.ts"
import { DEFAULT_PATH, openStore, storeAddress, storeKeys } from "../open/store.ts"
import { counted, duration } from "../print/figures.ts"
import { jsonText, padded, printText, progressBar, sanitizeLine } from "../terminal/terminal.ts"

interface DoctorFlags extends OutputFlags {
  /** True for the default store. */
  readonly store?: string | true | undefined
}

function doctorCommand(cli: Cli): Command {
  const command = new Command()
    .description("Check Node, the store, packages, keys and disk space, and execute a small run.")
    .option("--store [url]", `also check every record of this store (default: sqlite:${DEFAULT_PATH})`)
    .action((flags: DoctorFlags) => doctor(flags, cli))
  return complete(
    command,
    [outputFlags],
    "superstep doctor",
    "Exits with 1 if something is broken or damaged.",
  )
}

async function doctor(flags: DoctorFlags, cli: Cli): Promise<void> {
  const url = flags.store === true ? undefined : flags.store
  let hasFailed = false
  for await (const finding of allFindings(cli, url, flags)) {
    hasFailed ||= finding.state === "fail"
    if (flags.json) cli.out.line(jsonText(finding))
    else if (!flags.quiet || finding.state !== "ok") print(finding, cli)
  }
  if (hasFailed) cli.exit(EXIT.failed)
}

async function* allFindings(cli: Cli, url: string | undefined, flags: DoctorFlags): AsyncGenerator<Finding> {
  yield* findings(cli.io, url)
  if (flags.store !== undefined) yield* storeFindings(cli, url, flags)
}

const INDENT = 17

function print({ state, what, is, todo }: Finding, { out }: Cli): void {
  const { green, magenta, red, dim } = out.paint
  const word = { ok: green("ok  "), warn: magenta("warn"), fail: red("fail") }[state]
  printText(out, sanitizeLine(is), { label: `${word}  ${padded(what, 9)}  `, indent: INDENT })
  if (todo !== undefined) printText(out, sanitizeLine(todo), { label: `${" ".repeat(INDENT)}→ `, paint: dim })
}

const ADVICE =
  "Restore the file from a backup, or recover what is readable: superstep runs salvage --store sqlite:DAMAGED --to NEW."

/** Checks every record. Yields a finding for each damaged one, or a single finding if all are intact. */
async function* storeFindings(
  cli: Cli,
  url: string | undefined,
  flags: OutputFlags,
): AsyncGenerator<Finding & { readonly runId?: string | undefined; readonly seq?: number | undefined }> {
  const { path } = storeAddress(url, cli.io.cwd)
  if (path === undefined || !existsSync(path)) return
  const { checkStoreFile } = await import("@superstep/store-sqlite/internal")
  const bar = progressBar(cli.err)
  const show = flags.quiet || flags.json ? undefined : bar.show
  try {
    const keys = await storeKeys(cli.io.env)
    const checking = checkStoreFile(path, ({ share, what }) => show?.(share, what), keys)
    for (let isDamaged = false; ; isDamaged = true) {
      const { done, value } = await checking.next()
      bar.clear()
      if (done) {
        const is = `${counted(value.runs, "run")} and ${counted(value.records, "record")} are intact`
        if (!isDamaged) yield { state: "ok", what: "integrity", is }
        return
      }
      const { runId, seq, message } = value
      yield {
        state: "fail",
        what: value.part,
        is: message,
        todo: isDamaged ? undefined : ADVICE,
        runId,
        seq,
      }
    }
  } catch (error) {
    // The checks of the installation report this error.
    if (
      ["STORE_UNUSABLE", "STORE_KEY_MISSING", "STORE_KEY_WRONG"].some((code) => isSuperstepError(error, code))
    )
      return
    yield { state: "fail", what: "integrity", is: (error as Error).message, todo: ADVICE }
  } finally {
    bar.clear()
  }
}

export const commands = { doctor: doctorCommand }

// The checks of `superstep doctor`. They remove every file that they create.

interface Finding {
  readonly state: "ok" | "warn" | "fail"
  readonly what: string
  readonly is: string
  /** How to fix it. */
  readonly todo?: string | undefined
}

const MIN_DISK = 100_000_000

async function* findings(io: Io, store: string | undefined): AsyncGenerator<Finding> {
  yield nodeVersion(process.versions.node)
  yield await driver()
  yield* storeState(io, store)
  yield disk(io, store)
  yield* providers(io)
  yield typescript(io.cwd, process.versions.node)
  yield mcp(io.cwd)
  yield await selfTest()
}

export function nodeVersion(version: string): Finding {
  // Matches `engines` in package.json.
  const isEnough = isAtLeast(version, 22, 12) || (version.startsWith("20.") && isAtLeast(version, 20, 19))
  return {
    state: isEnough ? "ok" : "fail",
    what: "node",
    is: version,
    todo: isEnough ? undefined : "Use Node 22.12 or later, or 20.19 or later of Node 20.",
  }
}

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [first = 0, second = 0] = version.split(".").map(Number)
  return first > major || (first === major && second >= minor)
}

/** Creates a temporary store. */
async function driver(): Promise<Finding> {
  const what = "sqlite"
  const folder = mkdtempSync(join(tmpdir(), "superstep-doctor-"))
  try {
    const { sqliteStore } = await import("@superstep/store-sqlite")
    const { nodeSqlite } = await import("@superstep/store-sqlite/internal")
    await sqliteStore({ path: join(folder, "try.db") }).close()
    return { state: "ok", what, is: nodeSqlite() !== undefined ? "node:sqlite, built in" : "libsql" }
  } catch (error) {
    return { state: "fail", what, is: messageOf(error), todo: "Use Node 22.16 or later, which has SQLite." }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function* storeState(io: Io, url: string | undefined): AsyncGenerator<Finding> {
  const { cwd } = io
  const what = "store"
  try {
    const { kind, path, url: address } = storeAddress(url, cwd)
    if (kind === "memory") return yield { state: "ok", what, is: "in memory: nothing is stored" }
    if (path !== undefined && !existsSync(path)) return yield missingStore(path)
    const store = await openStore(url, io)
    const { runs } = await Promise.resolve(store.report()).finally(() => store.close())
    const count = Object.values(runs).reduce((sum, one) => sum + one, 0)
    yield { state: "ok", what, is: `${path ?? address}, ${counted(count, "run")}, writable` }
    const { quarantined = 0 } = runs
    if (quarantined === 0) return
    const is = `${quarantined} quarantined: each process that executed them died`
    const todo = "superstep runs list --status quarantined, then superstep runs release RUN."
    yield { state: "warn", what: "runs", is, todo }
  } catch (error) {
    const isLocked =
      isSuperstepError(error, "STORE_KEY_MISSING") || isSuperstepError(error, "STORE_KEY_WRONG")
    const todo = isLocked
      ? "Set SUPERSTEP_KEYS, or SUPERSTEP_KEYS_FILE, to its encryption keys."
      : "Repair it, or choose another store with --store sqlite:PATH."
    yield { state: "fail", what, is: messageOf(error), todo }
  }
}

function missingStore(path: string): Finding {
  const folder = existingFolder(dirname(path))
  try {
    accessSync(folder, constants.W_OK)
    return { state: "ok", what: "store", is: `${path}, created by the first run` }
  } catch {
    const todo = "Change its permissions, or choose another store with --store sqlite:PATH."
    return { state: "fail", what: "store", is: `${folder} is not writable`, todo }
  }
}

function existingFolder(path: string): string {
  let folder = path
  while (!existsSync(folder)) folder = dirname(folder)
  return folder
}

/** Checks the disk that the store is on. */
function disk({ cwd }: Io, url: string | undefined): Finding {
  let path: string | undefined
  try {
    path = storeAddress(url, cwd).path
  } catch {
    // `storeState` reports the address.
  }
  const { bavail, bsize } = statfsSync(existingFolder(path ?? cwd))
  const free = bavail * bsize
  const isEnough = free >= MIN_DISK
  return {
    state: isEnough ? "ok" : "warn",
    what: "disk",
    is: `${(free / 1e9).toFixed(1)} GB free`,
    todo: isEnough ? undefined : "Free some space: a run stops if its journal cannot be written.",
  }
}

function* providers({ env, cwd }: Io): Generator<Finding> {
  let isAnyReady = false
  for (const { name, package: wanted, variable } of MODEL_PROVIDERS) {
    if (variable === undefined || !hasKey(env, variable)) continue
    const version = installedVersion(wanted, cwd)
    if (version === undefined) {
      yield {
        state: "warn",
        what: name,
        is: `${variable} is set, but its package is missing`,
        todo: `npm i ${wanted}`,
      }
    } else {
      isAnyReady = true
      yield { state: "ok", what: name, is: `${variable} is set, ${wanted} ${version}` }
    }
  }
  if (isAnyReady) return
  const todo = "Set OPENAI_API_KEY or ANTHROPIC_API_KEY. See superstep models."
  yield { state: "warn", what: "models", is: "no key is set: only the offline model can answer", todo }
}

function typescript(cwd: string, version: string): Finding {
  const what = "modules"
  if (isAtLeast(version, 22, 18)) return { state: "ok", what, is: "Node runs TypeScript" }
  const tsx = installedVersion("tsx", cwd)
  if (tsx !== undefined) return { state: "ok", what, is: `tsx ${tsx} runs TypeScript` }
  const todo = "npm i -D tsx, or use Node 22.18 or later."
  return { state: "warn", what, is: "TypeScript modules cannot run", todo }
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
    const { showOfflineNotice } = await import("@superstep/engine/models")
    showOfflineNotice({ isTTY: true, write: () => true })
    const { definition, diagnostics } = loadDefinition({ file: "self-test.yaml", text: TWO_STEPS })
    if (definition === undefined) throw new Error(diagnostics[0]?.message)
    const { status, error } = await definition.workflow.run("Hello.").result
    if (status !== "completed") throw error
    return {
      state: "ok",
      what,
      is: `loaded and executed two steps in ${duration(performance.now() - started)}`,
    }
  } catch (error) {
    return {
      state: "fail",
      what,
      is: messageOf(error),
      todo: "Reinstall superstep. If that does not help, report it.",
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
