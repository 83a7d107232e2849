/** A workflow as the runtime knows it: something with a program to run. */
import type { Program } from "./program.ts"

declare const input: unique symbol
declare const output: unique symbol

export interface Callable<In = never, Out = unknown> {
  readonly name: string
  readonly program: Program
  /** For the compiler alone: what it takes and what it gives. */
  readonly [input]?: (value: In) => void
  readonly [output]?: Out
}
