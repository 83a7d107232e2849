/** `superstep doctor`: whether this installation works, and what to do where it does not. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { type Finding, findings } from "../health.ts"
import { jsonLine } from "../json-line.ts"
import { foreignLine, padded, wrapped } from "../terminal.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Checks Node, the store, packages, keys and disk, and makes a small run.")
    .action((flags: OutputFlags & StoreFlags) => doctor(flags, cli))
    .addHelpText("after", "\nFor example:\n  superstep doctor")
  storeFlags(made)
  return outputFlags(made)
}

async function doctor(flags: OutputFlags & StoreFlags, cli: Cli): Promise<void> {
  let hasFailed = false
  for await (const finding of findings(cli.io, flags.store)) {
    hasFailed ||= finding.state === "fail"
    if (flags.json) cli.out.line(jsonLine(finding))
    else if (!flags.quiet || finding.state !== "ok") print(finding, cli)
  }
  if (hasFailed) cli.exit(EXIT.failed)
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
