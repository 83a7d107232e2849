/** `superstep runs fork`: a new run that shares the past of another one up to a superstep, and goes on from there. */
import { fork, type Json, type StoredRun } from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import type { Cli } from "../cli.ts"
import { type BoundFlags, boundFlags, limitsOf, outputFlags, storeFlags } from "../common-flags.ts"
import { findRun, shortId } from "../find-run.ts"
import { type GoOnFlags, goOn, goOnFlags } from "../go-on.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { withMaxSteps } from "../run-labels.ts"
import { useStore } from "../use-store.ts"
import { parseSuperstep } from "./runs-state.ts"

interface ForkFlags extends GoOnFlags, BoundFlags {
  readonly at?: number | undefined
  readonly setState?: Readonly<Record<string, Json>> | undefined
  readonly run: boolean
}

export function forkCommand(cli: Cli): Command {
  const command = new Command("fork")
    .description("a new run with the past of this one up to a superstep")
    .argument("<run>", "its id; the beginning or the end of it is enough")
    .option("--at <n>", "after that superstep; 0 is its start. Default: its last one", parseSuperstep)
    .option(
      "--set-state <key=value>",
      "another value in its state: JSON, or a text; again for more",
      parseState,
    )
    .option("--no-run", "only make it, and print its id")
    .addHelpText("after", "\nFor example:\n  superstep runs fork 4f2a91c0 --at 2 --set-state tone=kind")
    .action((id: string, flags: ForkFlags) =>
      useStore(cli, flags, async (store) => {
        const run = await findRun(store, id)
        const of = (dialect?: string) => forked(cli, store, run, flags, dialect)
        if (flags.run) {
          await goOn(cli, store, run, flags, { of: ({ definition }) => of(definition?.dialect) })
        } else {
          const runId = await of()
          cli.out.line(flags.json ? jsonLine({ runId }) : runId)
        }
      }),
    )
  for (const add of [boundFlags, goOnFlags, storeFlags, outputFlags]) add(command)
  return command
}

async function forked(
  { err }: Cli,
  store: OpenStore,
  origin: StoredRun,
  flags: ForkFlags,
  dialect: string | undefined,
): Promise<string> {
  const { at, setState: state, quiet, run } = flags
  const { runId } = origin
  const made = await fork(store, runId, {
    ...limitsOf(flags, dialect),
    at: at === undefined ? undefined : { superstep: at },
    state,
    labels: withMaxSteps(origin, flags),
  })
  if (!quiet && run) err.line(err.paint.dim(`run ${made}, a fork of ${shortId(runId)}`))
  return made
}

/** A value that is JSON is taken as such; anything else is a text. */
function parseState(
  text: string,
  before: Readonly<Record<string, Json>> = {},
): Readonly<Record<string, Json>> {
  const equals = text.indexOf("=")
  if (equals < 1) throw new InvalidArgumentError("Write --set-state key=value.")
  const [key, written] = [text.slice(0, equals), text.slice(equals + 1)]
  let value: Json = written
  try {
    value = JSON.parse(written) as Json
  } catch {
    // It is a text.
  }
  return { ...before, [key]: value }
}
