/**
 * A run on a terminal: a small block at the bottom that is drawn again in place, and above it what is done with.
 *
 * L1 what is above the block stays as it was written; the block never has more lines than it says it has.
 * L2 nothing is drawn while a person is asked, or after the end.
 */
import type { RunEvent, RunResult } from "@superstep/engine"
import type { Terminal } from "../terminal.ts"
import { outcomeLine, progressLines, summaryLine, warningLines } from "./progress-lines.ts"
import { RunTracker } from "./run-tracker.ts"
import type { Watcher } from "./watcher.ts"

export interface LiveProgressOptions {
  /** Of a run that goes on: what was before. */
  readonly past?: readonly RunEvent[] | undefined
  readonly now?: (() => number) | undefined
  /** Calls back now and then until it is told to stop. Default: ten times a second. */
  readonly every?: ((draw: () => void) => () => void) | undefined
  /** Nodes that are only there to hold others together. */
  readonly isHidden?: ((node: string) => boolean) | undefined
}

/** Past so many tasks and warnings above the block, they are only counted. */
const MOST_LINES = 60

export class LiveProgress implements Watcher {
  readonly #terminal: Terminal
  readonly #tracker = new RunTracker()
  readonly #now: () => number
  readonly #every: NonNullable<LiveProgressOptions["every"]>
  readonly #isHidden: (node: string) => boolean
  #above: string[] = []
  #lines = 0
  #told = 0
  #stop: (() => void) | undefined
  #isPaused = false

  constructor(terminal: Terminal, options: LiveProgressOptions = {}) {
    this.#terminal = terminal
    this.#now = options.now ?? Date.now
    this.#every = options.every ?? tenTimesASecond
    this.#isHidden = options.isHidden ?? (() => false)
    if (options.past === undefined) return
    this.#tracker.follow(options.past, this.#now())
    // What is at work may not tell anything for long.
    this.#stop = this.#every(() => this.draw())
  }

  event(event: RunEvent): void {
    this.#stop ??= this.#every(() => this.draw())
    const { width, paint } = this.#terminal
    const warning = warningLines(event, width, paint)
    if (warning.length > 0 && this.#told++ < MOST_LINES) this.#above.push(...warning)
    const outcome = this.#tracker.add(event)
    if (outcome === undefined) return
    if (this.#isHidden(outcome.task.node) && outcome.outcome === "finished") return
    if (this.#told++ < MOST_LINES) this.#above.push(outcomeLine(outcome, width, paint))
  }

  draw(): void {
    if (this.#isPaused) return
    const { width, paint } = this.#terminal
    const block = progressLines(this.#tracker, this.#now(), width - 1, paint, this.#isHidden)
    this.#replace([...this.#above.splice(0), ...block], block.length)
  }

  /** Puts lines where the block was; the last `kept` of them are the block from now on. */
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
    const hidden = this.#told - MOST_LINES
    if (hidden > 0) this.#above.push(paint.dim(`  … and ${hidden} more`))
    this.#replace(this.#above.splice(0), 0)
    this.#isPaused = true
    if (result === undefined) return
    const started = this.#tracker.startedAt ?? this.#now()
    this.#terminal.line(summaryLine(result, this.#now() - started, paint))
  }
}

function tenTimesASecond(draw: () => void): () => void {
  const timer = setInterval(draw, 100)
  timer.unref()
  return () => clearInterval(timer)
}
