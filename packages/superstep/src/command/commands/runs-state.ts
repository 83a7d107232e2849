/** `superstep runs state`: the shared state of a run, now or after any of its supersteps. */
import { history } from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { counted } from "../figures.ts"
import { findRun } from "../find-run.ts"
import { jsonLine, jsonText } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { useStore } from "../use-store.ts"

interface StateFlags extends OutputFlags, StoreFlags {
  readonly at?: number | undefined
}

export function stateCommand(cli: Cli): Command {
  const command = new Command("state")
    .description("its shared state as JSON, now or after a superstep")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .option("--at <n>", "after that superstep; 0 is its start", parseSuperstep)
    .addHelpText("after", "\nFor example:\n  superstep runs state 4f2a91c0 --at 3")
    .action((id: string, flags: StateFlags) => useStore(cli, flags, (store) => show(cli, store, id, flags)))
  return outputFlags(storeFlags(command))
}

export function parseSuperstep(text: string): number {
  const superstep = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(superstep)) return superstep
  throw new InvalidArgumentError("A superstep is a number: 0, 1, 2, …")
}

async function show({ out, err }: Cli, store: OpenStore, id: string, flags: StateFlags): Promise<void> {
  const { runId, seq } = await findRun(store, id)
  const { stateAt } = await history(store, runId)
  const found = await stateAt(flags.at === undefined ? { seq } : { superstep: flags.at })
  if (flags.json) return out.line(jsonLine(found))
  const { superstep, status, tasks, requests, state } = found
  if (!flags.quiet) {
    const more = [
      ...(tasks.length > 0 ? [`${counted(tasks.length, "task")} not over`] : []),
      ...(requests.length > 0 ? [counted(requests.length, "open question")] : []),
    ]
    const when = flags.at === undefined ? `superstep ${superstep}` : `after superstep ${flags.at}`
    err.line(err.paint.dim([when, status, ...more].join(", ")))
  }
  out.line(jsonText(state, 2))
}
