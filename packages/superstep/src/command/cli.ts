/** What every command is given, and what it is. */
import type { Command } from "commander"
import type { ExitCode } from "./exit-codes.ts"
import type { Io } from "./io.ts"
import type { Terminal } from "./terminal.ts"

export interface Cli {
  readonly io: Io
  /** Answers and data: what a pipe wants to have. */
  readonly out: Terminal
  /** Everything else that is said. */
  readonly err: Terminal
  /** With `--verbose`: more is told, and errors have their stack. */
  readonly isVerbose: boolean
  /** What the process ends with, once the command is done. Default 0. */
  exit(code: ExitCode): void
}

/** A module of `commands/`: loaded when its command is used, or when all are listed. */
export interface CommandModule {
  command(cli: Cli): Command
}
