/** `superstep runs events`: what happened in a run; with `--follow`, also what happens in another process from now on. */
import { pastEvents, type RunEvent, Runtime } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, parseWhole, type StoreFlags, storeFlags } from "../common-flags.ts"
import { eventLine } from "../event-line.ts"
import { EXIT } from "../exit-codes.ts"
import { findRun } from "../find-run.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { useStore } from "../use-store.ts"

interface EventsFlags extends OutputFlags, StoreFlags {
  readonly follow?: true | undefined
  readonly after: number
}

export function eventsCommand(cli: Cli): Command {
  const command = new Command("events")
    .description("what happened, event by event; --follow attaches to a run at work anywhere")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .option("--follow", "go on until the run is over")
    .option("--after <seq>", "only events after that number", parseWhole, 0)
    .addHelpText("after", "\nFor example:\n  superstep runs events 4f2a91c0 --follow --json | jq .type")
    .action((id: string, flags: EventsFlags) => useStore(cli, flags, (store) => show(cli, store, id, flags)))
  return outputFlags(storeFlags(command))
}

async function show(cli: Cli, store: OpenStore, id: string, flags: EventsFlags): Promise<void> {
  const { runId } = await findRun(store, id)
  const { out } = cli
  const print = (event: RunEvent) => out.line(flags.json ? jsonLine(event) : eventLine(event, out))
  if (flags.follow) return await follow(cli, store, runId, flags.after, print)
  for (const event of await pastEvents(store, runId, flags.after)) print(event)
}

/** Until the run is over, or the person has seen enough. The run does not notice. */
async function follow(
  cli: Cli,
  store: OpenStore,
  runId: string,
  after: number,
  print: (event: RunEvent) => void,
): Promise<void> {
  const runtime = new Runtime({ store, workflows: [] })
  const events = runtime.get(runId).events({ after })
  let leave: (() => void) | undefined
  const left = new Promise<undefined>((resolve) => {
    leave = cli.io.onInterrupt(() => resolve(undefined))
  })
  try {
    for (;;) {
      const next = await Promise.race([events.next(), left])
      if (next === undefined) {
        cli.exit(EXIT.cancelled)
        break
      }
      if (next.done) break
      print(next.value)
    }
  } finally {
    leave?.()
    await runtime.close()
  }
}
