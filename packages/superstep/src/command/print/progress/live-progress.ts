/**
 * The progress of a run on a terminal: a small block at the bottom is redrawn in place, and finished work is printed
 * above it.
 *
 * L1 Lines above the block never change; the block never has more lines than it counts.
 * L2 Nothing is drawn while a person is asked a question, or after the end.
 */
import type { RunEvent, RunResult } from "@superstep/engine"
import type { Terminal } from "../../terminal/terminal.ts"
import { NO_NAMES, type NodeNames } from "../node-names.ts"
import { outcomeLine, progressLines, RunTracker, summaryLine, warningLines } from "./progress-lines.ts"
import type { Watcher } from "./watcher.ts"

export interface LiveProgressOptions {
  /** The earlier events of a resumed run. */
  readonly past?: readonly RunEvent[] | undefined
  readonly now?: (() => number) | undefined
  /** Calls `draw` repeatedly until the returned function is called. Default: ten times a second. */
  readonly every?: ((draw: () => void) => () => void) | undefined
  readonly names?: NodeNames | undefined
}

/** Tasks and warnings above the block. Further ones are only counted. */
const MAX_LINES = 60

export class LiveProgress implements Watcher {
  readonly #terminal: Terminal
  readonly #tracker: RunTracker
  readonly #now: () => number
  readonly #every: NonNullable<LiveProgressOptions["every"]>
  readonly #names: NodeNames
  #above: string[] = []
  #lines = 0
  #printed = 0
  #stop: (() => void) | undefined
  #isPaused = false

  constructor(terminal: Terminal, options: LiveProgressOptions = {}) {
    this.#terminal = terminal
    this.#now = options.now ?? Date.now
    this.#every = options.every ?? tenTimesASecond
    this.#names = options.names ?? NO_NAMES
    this.#tracker = new RunTracker(this.#names.title)
    if (options.past === undefined) return
    this.#tracker.follow(options.past, this.#now())
    // A running task may emit nothing for a long time.
    this.#stop = this.#every(() => this.draw())
  }

  event(event: RunEvent): void {
    this.#stop ??= this.#every(() => this.draw())
    const { width, paint } = this.#terminal
    const warning = warningLines(event, width, paint, this.#names.title)
    if (warning.length > 0 && this.#printed++ < MAX_LINES) this.#above.push(...warning)
    const outcome = this.#tracker.add(event)
    if (outcome === undefined) return
    if (this.#names.isHidden(outcome.task.node) && outcome.outcome === "finished") return
    if (this.#printed++ < MAX_LINES) this.#above.push(outcomeLine(outcome, width, paint))
  }

  draw(): void {
    if (this.#isPaused) return
    const { width, paint } = this.#terminal
    const block = progressLines(this.#tracker, this.#now(), width - 1, paint, this.#names.isHidden)
    this.#replace([...this.#above.splice(0), ...block], block.length)
  }

  /** Writes lines over the block; the last `kept` of them are the new block. */
  #replace(lines: readonly string[], kept: number): void {
    const erased = this.#lines === 0 ? "" : `\x1B[${this.#lines}A\r\x1B[0J`
    const text = lines.map((line) => `${line}\n`).join("")
    if (erased !== "" || text !== "") this.#terminal.write(erased + text)
    this.#lines = kept
  }

  pause(): void {
    this.#replace(this.#above.splice(0), 0)
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
  }

  end(result: RunResult | undefined): void {
    this.#stop?.()
    const { paint } = this.#terminal
    const hidden = this.#printed - MAX_LINES
    if (hidden > 0) this.#above.push(paint.dim(`  … and ${hidden} more`))
    this.#replace(this.#above.splice(0), 0)
    this.#isPaused = true
    if (result === undefined) return
    this.#terminal.line(summaryLine(result, this.#tracker.took(this.#now()), paint))
  }
}

function tenTimesASecond(draw: () => void): () => void {
  const timer = setInterval(draw, 100)
  timer.unref()
  return () => clearInterval(timer)
}
