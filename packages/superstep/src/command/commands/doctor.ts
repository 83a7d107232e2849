/** `superstep doctor`: checks the installation and the store, and says how to fix what is wrong. */
import { existsSync } from "node:fs"
import { isSuperstepError } from "@superstep/engine"
import { Command } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import { complete, type OutputFlags, outputFlags } from "../flags.ts"
import { DEFAULT_PATH, storeAddress } from "../open/store.ts"
import { counted } from "../print/figures.ts"
import { progressBar } from "../print/progress-bar.ts"
import { jsonText, padded, printText, sanitizeLine } from "../terminal/terminal.ts"
import { type Finding, findings } from "./doctor-checks.ts"

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
    ["superstep doctor", "superstep doctor --store sqlite:data/runs.db"],
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

/** Checks every record: a finding for each damage, or a single one if there is none. */
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
    const checking = checkStoreFile(path, ({ share, what }) => show?.(share, what))
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
    // The checks of the installation report it.
    if (isSuperstepError(error, "STORE_UNUSABLE")) return
    yield { state: "fail", what: "integrity", is: (error as Error).message, todo: ADVICE }
  } finally {
    bar.clear()
  }
}

export const commands = { doctor: doctorCommand }
