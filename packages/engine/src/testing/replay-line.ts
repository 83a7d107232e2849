import type { SimulateOptions } from "./simulate.ts"

/** The line that repeats a simulated day; answers are functions, so they appear by name. */
export function replayLine(input: unknown, { answers, ...data }: SimulateOptions): string {
  const shown = JSON.stringify(data).slice(1, -1)
  return `simulate(workflow, ${JSON.stringify(input)}, { ${shown}${answers === undefined ? "" : ", answers"} })`
}
