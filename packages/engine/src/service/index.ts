/** Many runs on one store: recovery, waiting runs put aside, questions from anywhere, what is kept. */
export type { GraphConflict } from "./graph-check.ts"
export type { Recovery, Retention, RuntimeOptions, RuntimeProblem } from "./options.ts"
export { Runtime, type StartOptions } from "./runtime.ts"
