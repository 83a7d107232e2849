/** A workflow that is ready to run: from a definition, a module, the registry, a goal configuration, or a research. */
import type { Labels, RunEvent, Workflow } from "@superstep/engine"
import type { Definition } from "@superstep/engine/definitions"
import { usageError } from "../print/errors.ts"
import type { Watcher } from "../print/progress/watcher.ts"
import type { Terminal } from "../terminal/terminal.ts"

export interface OpenedWorkflow {
  readonly name: string
  /** Its input is the prompt, unless it declares another: see `read-input.ts`. */
  readonly workflow: Workflow<never, unknown>
  /** Undefined for a module. */
  readonly definition?: Definition | undefined
  /** Stored with its runs, so that the workflow can be opened again. */
  readonly labels: Labels
  /** Replaces the progress by node; `past` are the earlier events of a resumed run. */
  readonly progress?: ((terminal: Terminal, past?: readonly RunEvent[]) => Watcher) | undefined
  /**
   * Loads the files that the workflow searches, with a progress bar. Returns false if Ctrl-C stopped it. If absent, the
   * run loads them.
   */
  readonly prepare?: (() => Promise<boolean>) | undefined
  /** Closes what its toolsets opened. */
  close(): Promise<void>
}

/** Throws if a definition keeps no state between runs. The engine checks modules. */
export function checkThread({ name, workflow, definition }: OpenedWorkflow): void {
  const channels = [...workflow.program.graph.channels.values()]
  if (definition === undefined || channels.some(({ lasting }) => lasting)) return
  throw usageError(
    `${name} keeps nothing between runs. superstep chat, --thread and --session are for files with agents and no ` +
      "workflow, and for graphs that hold a conversation. Use superstep run.",
  )
}
