/** Attends to a run as `superstep run` does: shows it, asks the person, and says at the end what came of it. */
import type { GraphChangePolicy, RunEvent } from "@superstep/engine"
import { allowingTools, atTheTerminal } from "./answerers.ts"
import type { Cli } from "./cli.ts"
import type { OutputFlags, StoreFlags } from "./common-flags.ts"
import { EXIT, type ExitCode } from "./exit-codes.ts"
import { type OpenStore, storeAddress } from "./open-store.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { printEnded } from "./print-ended.ts"
import { hiddenIn } from "./progress/hidden-nodes.ts"
import { jsonEvents } from "./progress/json-events.ts"
import { plainProgress } from "./progress/plain-progress.ts"
import type { Watcher } from "./progress/watcher.ts"
import { type Begin, type Ended, runWorkflow } from "./run-workflow.ts"
import { shellWord } from "./shell-word.ts"

export interface AttendOptions {
  readonly opened: OpenedWorkflow
  readonly store: OpenStore
  readonly flags: OutputFlags &
    StoreFlags & { readonly yolo?: true | undefined; readonly strict?: true | undefined }
  readonly begin: Begin
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** What was of a run that goes on. */
  readonly past?: readonly RunEvent[] | undefined
}

export async function attend(cli: Cli, options: AttendOptions): Promise<ExitCode> {
  const { opened, store, flags, begin, onGraphChange, past } = options
  const isKept = storeAddress(flags.store, cli.io.cwd).kind !== "memory"
  const person = atTheTerminal(cli)
  const answerer = flags.yolo ? allowingTools(person) : person
  const watcher = await progressOf(cli, flags, opened, past)
  const ended = await runWorkflow(cli, { opened, store, isKept, begin, onGraphChange, watcher, answerer })
  printEnded(cli, ended, { json: flags.json, isKept, storeFlag: storeFlagOf(flags) })
  return flags.strict && lacksSomething(ended) ? EXIT.failed : ended.code
}

/** The workflow completed, and says itself which sources it could not ask. */
function lacksSomething({ result }: Ended): boolean {
  const problems = result?.status === "completed" ? result.state.incomplete : undefined
  return Array.isArray(problems) && problems.length > 0
}

/** How a run is shown: live on a terminal, in lines elsewhere, as JSON, or not at all. */
async function progressOf(
  cli: Cli,
  flags: OutputFlags,
  opened: OpenedWorkflow,
  past: AttendOptions["past"],
): Promise<Watcher> {
  if (flags.json) return jsonEvents(cli.out)
  const isHidden = hiddenIn(opened.workflow)
  if (flags.quiet) return { event() {}, pause() {}, resume() {}, end() {} }
  if (opened.progress !== undefined && !flags.verbose) return opened.progress(cli.err, past)
  if (!cli.err.isTerminal || flags.verbose)
    return plainProgress(cli.err, { past, isHidden, isVerbose: flags.verbose === true })
  const { LiveProgress } = await import("./progress/live-progress.ts")
  return new LiveProgress(cli.err, { past, isHidden })
}

/** To be added to commands that are suggested. */
export function storeFlagOf({ store }: StoreFlags): string {
  return store === undefined ? "" : ` --store ${shellWord(store)}`
}
