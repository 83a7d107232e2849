/** A conversation on a thread: a run for each message, on what was said before. */
import type { RunResult, Runtime } from "@superstep/engine"
import { allowingTools, atTheTerminal } from "./answerers.ts"
import { storeFlagOf } from "./attend.ts"
import { type ChatManners, mannersOf, readTyped } from "./chat-commands.ts"
import type { Cli } from "./cli.ts"
import type { OutputFlags, RunFlags, StoreFlags } from "./common-flags.ts"
import { limitsOf } from "./common-flags.ts"
import { EXIT, type ExitCode } from "./exit-codes.ts"
import { duration, spent } from "./figures.ts"
import { messageSource } from "./message-source.ts"
import { type OpenStore, storeAddress } from "./open-store.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { printEnded, printOutputs } from "./print-ended.ts"
import { jsonEvents } from "./progress/json-events.ts"
import { spokenText } from "./progress/spoken-text.ts"
import { type Ended, runWorkflow } from "./run-workflow.ts"
import { foreign, padded, type Terminal } from "./terminal.ts"

export type ChatFlags = OutputFlags & StoreFlags & RunFlags

export async function converse(
  cli: Cli,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: ChatFlags,
): Promise<ExitCode> {
  const { err } = cli
  const thread = flags.thread ?? `chat-${crypto.randomUUID().slice(0, 8)}`
  const manners = mannersOf(opened.definition)
  if (!flags.quiet) greet(err, thread, manners)
  const messages = messageSource(cli.io, err.paint.bold("> "))
  try {
    for (;;) {
      const line = await messages.next()
      if (line === undefined) break
      const typed = readTyped(line, manners)
      if (typed.kind === "exit") break
      if (typed.kind === "help") tellHelp(err, manners)
      if (typed.kind === "unknown")
        err.line(`There is no /${foreign(typed.name)}; /help tells what there is.`)
      if (typed.kind !== "say") continue
      const ended = await turn(cli, opened, store, flags, thread, typed.text)
      // It keeps its thread until it is answered.
      if (ended.code === EXIT.waiting) return EXIT.waiting
    }
  } finally {
    messages.close()
  }
  const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
  if (isKept && !flags.quiet && err.isTerminal) err.line(err.paint.dim(`Go on with it: --thread ${thread}`))
  return EXIT.completed
}

async function turn(
  cli: Cli,
  opened: OpenedWorkflow,
  store: OpenStore,
  flags: ChatFlags,
  thread: string,
  text: string,
): Promise<Ended> {
  const { out, err } = cli
  const spoken = spokenText((said) => out.write(out.isTerminal ? foreign(said) : said))
  const person = atTheTerminal(cli)
  const started = Date.now()
  const options = { ...limitsOf(flags, opened.definition?.dialect), thread, labels: opened.labels }
  const ended = await runWorkflow(cli, {
    opened,
    store,
    // Ctrl-C ends the answer, not the conversation: a run that is let go of would keep its thread.
    isKept: false,
    begin: (runtime: Runtime) => ({ run: runtime.stream(opened.workflow, text as never, options) }),
    watcher: flags.json ? jsonEvents(out) : spoken,
    answerer: flags.yolo ? allowingTools(person) : person,
  })
  const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
  if (ended.result?.status === "completed" && !spoken.hasSpoken && !flags.json)
    printOutputs(cli, ended.result)
  printEnded(cli, ended, { json: flags.json, isKept, storeFlag: storeFlagOf(flags), isShown: true })
  if (!flags.quiet && err.isTerminal) tellFigures(err, ended.result, Date.now() - started)
  return ended
}

function tellFigures(err: Terminal, result: RunResult | undefined, milliseconds: number): void {
  if (result === undefined) return
  err.line(err.paint.dim([...spent(result.usage), duration(milliseconds)].join(" · ")))
}

function greet(err: Terminal, thread: string, { welcome }: ChatManners): void {
  err.line(err.paint.dim(`thread ${thread} · /help for help, /exit to leave`))
  if (welcome !== undefined) err.line(foreign(welcome))
}

function tellHelp(err: Terminal, { commands }: ChatManners): void {
  const rows: [string, string][] = [
    ["/help", "this"],
    ["/exit", "ends the conversation; it is kept under its thread"],
    ["\\", "at the end of a line: the message goes on in the next one"],
    ...[...commands].map(([name, { description, instruction }]): [string, string] => [
      `/${name}`,
      description ?? instruction,
    ]),
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, what] of rows)
    err.line(`  ${padded(foreign(name), width)}  ${foreign(what).split("\n")[0]}`)
}
