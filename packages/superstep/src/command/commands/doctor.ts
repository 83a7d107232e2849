/** `superstep doctor`: whether this installation works, and what to do where it does not. */
import { Command } from "commander"
import { storeFindings } from "../check-store.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { type Finding, findings } from "../health.ts"
import { jsonLine } from "../json-line.ts"
import { DEFAULT_PATH } from "../open-store.ts"
import { foreignLine, padded, wrapped } from "../terminal.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Checks Node, the store, packages, keys and disk, and makes a small run.")
    .option(
      "--store [url]",
      `check every record of a store too: sqlite:PATH, or ${DEFAULT_PATH} if none is given`,
    )
    .action((flags: DoctorFlags) => doctor(flags, cli))
    .addHelpText(
      "after",
      "\nExit code 1: something is broken or damaged.\n\nFor example:\n  superstep doctor\n  superstep doctor --store sqlite:data/runs.db",
    )
  return outputFlags(made)
}

interface DoctorFlags extends OutputFlags {
  /** True for the default store. */
  readonly store?: string | true | undefined
}

async function doctor(flags: DoctorFlags, cli: Cli): Promise<void> {
  const url = flags.store === true ? undefined : flags.store
  let hasFailed = false
  for await (const finding of all(cli, url, flags)) {
    hasFailed ||= finding.state === "fail"
    if (flags.json) cli.out.line(jsonLine(finding))
    else if (!flags.quiet || finding.state !== "ok") print(finding, cli)
  }
  if (hasFailed) cli.exit(EXIT.failed)
}

async function* all(cli: Cli, url: string | undefined, flags: DoctorFlags): AsyncGenerator<Finding> {
  yield* findings(cli.io, url)
  if (flags.store !== undefined) yield* storeFindings(cli, url, flags)
}

function print({ state, what, is, todo }: Finding, { out }: Cli): void {
  const { green, magenta, red, dim } = out.paint
  const sign = { ok: green("ok  "), warn: magenta("warn"), fail: red("fail") }[state]
  const [first = "", ...others] = wrapped(foreignLine(is), out.width - 17)
  out.line(`${sign}  ${padded(what, 9)}  ${first}`)
  for (const line of others) out.line(`${" ".repeat(17)}${line}`)
  const advice = todo === undefined ? [] : wrapped(foreignLine(todo), out.width - 19)
  for (const [i, line] of advice.entries()) out.line(dim(`${" ".repeat(17)}${i === 0 ? "→" : " "} ${line}`))
}
