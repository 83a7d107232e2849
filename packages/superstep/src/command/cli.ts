/** The context of every command: the process it runs in, its output streams, and the exit codes. */
import type { Readable, Writable } from "node:stream"
import type { RunResult, RunStatus } from "@superstep/engine"
import type { Command } from "commander"
import type { Terminal } from "./terminal/terminal.ts"

export interface Cli {
  readonly io: Io
  /** Answers and data: what a pipe reads. */
  readonly out: Terminal
  /** Everything else. */
  readonly err: Terminal
  /** `--verbose`: print more, and errors with their stack. */
  readonly isVerbose: boolean
  /** Sets the exit code of the process. Default 0. */
  exit(code: ExitCode): void
}

/** Makes a command. Its module is loaded when the command is used, or when all commands are listed. */
export type MakeCommand = (cli: Cli) => Command

/** The process around the CLI; tests replace it. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined }
  readonly stdout: Writable & Screen
  readonly stderr: Writable & Screen
  readonly env: Environment
  readonly cwd: string
  /** Ctrl-C, SIGTERM, a closed terminal, or a closed pipe. Returns a function that stops listening. */
  onInterrupt(listener: () => void): () => void
  /** Ends the process immediately. */
  exitNow(code: number): void
}

export type Environment = Readonly<Record<string, string | undefined>>

interface Screen {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** A person sees questions and can type answers. */
export function isInteractive({ io, err }: Cli): boolean {
  return io.stdin.isTTY === true && err.isTerminal
}

export const EXIT = {
  completed: 0,
  failed: 1,
  /** A bad definition, a bad flag, a missing file. */
  usage: 2,
  /** The run waits for a person, or somebody paused it. */
  waiting: 3,
  paused: 3,
  /** A limit, the budget or the timeout was reached. */
  limit: 4,
  cancelled: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

const USAGE = new Set(["BUDGET_UNPRICED", "MODEL_KEY_MISSING", "MODEL_MISSING"])

export function exitCodeOf(status: Exclude<RunStatus, "running">, error?: RunResult["error"]): ExitCode {
  // The models of a module are known only when its agents call them. The caller must set what is missing.
  if (status === "failed" && USAGE.has(error?.code ?? "")) return EXIT.usage
  return EXIT[status]
}
