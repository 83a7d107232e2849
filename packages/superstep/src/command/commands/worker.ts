/** `superstep worker`: claims queued runs of definitions and modules, and executes them until it is stopped. */
import { statSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Command, InvalidArgumentError } from "commander"
import type { Cli } from "../cli.ts"
import {
  complete,
  definitionFlags,
  modelFlag,
  outputFlags,
  parseCount,
  parseDuration,
  storeFlags,
} from "../flags.ts"
import { isWorkflowFile } from "../open/workflow.ts"
import { usageError } from "../print/errors.ts"
import { runWorker, type WorkerFlags } from "../run/worker.ts"

function workerCommand(cli: Cli): Command {
  const command = new Command()
    .description("Execute queued runs of these workflows, until Ctrl-C or SIGTERM.")
    .argument("<files...>", "definitions, modules, or folders with them")
    .option("--concurrency <n>", "execute so many runs at the same time (default: 10)", parseCount)
    .option("--queues <names>", "serve these queues only: a,b (default: all)", parseQueues)
    .option("--grace <time>", "let runs finish for so long when stopped (default: 30s)", parseDuration)
    .option("--health <port>", "serve /healthz and /readyz on this port", parsePort)
    .option("--watch", "load the workflows again when their files change")
    .action((files: readonly string[], flags: WorkerFlags) => work(files, flags, cli))
  return complete(
    command,
    [definitionFlags, modelFlag, storeFlags, outputFlags],
    ["superstep worker flows/ --concurrency 20 --queues default,mail", "superstep worker story.yaml --watch"],
    "Runs are queued with superstep enqueue or runtime.enqueue. When it is stopped, the worker claims nothing more, waits for --grace, and releases what is left: another worker continues it.",
  )
}

async function work(files: readonly string[], flags: WorkerFlags, cli: Cli): Promise<void> {
  const found = (await Promise.all(files.map((file) => filesIn(file, cli)))).flat()
  await runWorker(cli, [...new Set(found)], flags)
}

/** A folder stands for the workflows right in it. */
async function filesIn(source: string, { io }: Cli): Promise<readonly string[]> {
  const path = resolve(io.cwd, source)
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  if (!isFolder) return [source]
  const names = (await readdir(path)).filter((name) => !name.startsWith(".") && isWorkflowFile(name)).sort()
  if (names.length === 0) throw usageError(`${source} has no definitions or modules.`)
  return names.map((name) => join(source, name))
}

function parseQueues(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim())
  if (names.every((name) => name !== "")) return names
  throw new InvalidArgumentError("Write names that are not empty, for example default,mail.")
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError("Write a port from 0 to 65535; 0 chooses a free one.")
}

export const commands = { worker: workerCommand }
