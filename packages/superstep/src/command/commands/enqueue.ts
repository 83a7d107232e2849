/** `superstep enqueue`: creates a run that a worker executes. */
import type { EnqueueOptions, Json } from "@superstep/engine"
import { Command, InvalidArgumentError } from "commander"
import type { Cli } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  definitionFlags,
  limitsOf,
  type OutputFlags,
  outputFlags,
  parseDuration,
  type RunFlags,
  runIdFlag,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import type { OpenedWorkflow } from "../open/opened-workflow.ts"
import { withWorkflow } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { inputOf } from "../run/read-input.ts"

interface EnqueueFlags extends OutputFlags, StoreFlags, DefinitionFlags, Pick<RunFlags, "runId"> {
  readonly key?: string | undefined
  readonly delay?: number | undefined
  readonly startAt?: number | undefined
  readonly expiresAt?: number | undefined
  readonly priority?: number | undefined
  readonly queue?: string | undefined
  readonly tenant?: string | undefined
  readonly data?: true | undefined
}

function enqueueCommand(cli: Cli): Command {
  const command = new Command()
    .description("Queue a run for a worker, and print its id.")
    .argument("<file>", "a definition, a module, or the id of a definition in the store")
    .argument("[input]", "the input; - reads it from stdin")
    .option("--data", "read the input of a definition as JSON")
    .option("--key <key>", "queue it once: the same key returns the same run")
    .option("--delay <time>", "start it after this time: 90s, 2m, 1h", parseDuration)
    .option("--start-at <time>", "start it at this time: 2026-01-31T08:00:00Z", parseTime)
    .option("--expires-at <time>", "cancel it if no worker has started it by then", parseTime)
    .option("--priority <n>", "start it earlier: each point is worth a minute of waiting", parsePriority)
    .option("--queue <name>", "put it into this queue (default: default)")
    .option("--tenant <name>", "say whose run it is: tenants are served in turn")
    .action((file: string, input: string | undefined, flags: EnqueueFlags) =>
      enqueue(file, input, flags, cli),
    )
  return complete(
    command,
    [definitionFlags, runIdFlag, storeFlags, outputFlags],
    'superstep enqueue story.yaml "a story about the sea" --delay 1h',
  )
}

async function enqueue(
  file: string,
  written: string | undefined,
  flags: EnqueueFlags,
  cli: Cli,
): Promise<void> {
  await withWorkflow(file, cli, { flags, isRun: false }, async (opened, openStore) => {
    const input = await readInput(written, flags, opened, cli)
    const { runId, key, delay, startAt, expiresAt, priority, queue, tenant } = flags
    const bounds = limitsOf(flags, opened.definition?.dialect)
    const place = { runId, key, delay, startAt, expiresAt, priority, queue, tenant }
    const options: EnqueueOptions = { ...place, ...bounds, labels: opened.labels }
    const { Runtime } = await import("@superstep/engine")
    const runtime = new Runtime({ store: await openStore(), workflows: [opened.workflow], recover: false })
    try {
      const id = await runtime.enqueue(opened.workflow, input as never, options)
      cli.out.line(flags.json ? JSON.stringify({ runId: id }) : id)
    } finally {
      await runtime.close()
    }
  })
}

async function readInput(
  written: string | undefined,
  { data }: EnqueueFlags,
  opened: OpenedWorkflow,
  cli: Cli,
): Promise<Json> {
  const input = await inputOf(written, opened, cli)
  if (data !== true || typeof input !== "string") return input
  try {
    return JSON.parse(input) as Json
  } catch (error) {
    throw usageError("The input is not JSON, which --data asks for.", error)
  }
}

function parseTime(text: string): number {
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw new InvalidArgumentError("Write a date and time, for example 2026-01-31T08:00:00Z.")
}

function parsePriority(text: string): number {
  const priority = Number(text)
  if (text.trim() !== "" && Math.abs(priority) <= 1_000) return priority
  throw new InvalidArgumentError("Write a number from -1000 to 1000.")
}

export const commands = { enqueue: enqueueCommand }
