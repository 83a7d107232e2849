/** A workflow that is built: immutable, and good for any number of runs at once. */
import type { NodeId, Problem, RunId } from "../core/index.ts"
import { type Callable, type Program, type ResumeOptions, Run, type RunOptions } from "../runtime/index.ts"
import { type Node, type SubWorkflowOptions, workflowNode } from "./node.ts"

export interface Workflow<In = never, Out = unknown> extends Callable<In, Out> {
  readonly description: string | undefined
  /** What the validation found that may be meant so: self loops, dead ends. */
  readonly warnings: readonly Problem[]
  /** Starts a run. Await it for the result; or hold it to watch, answer and cancel. */
  run(input: In, options?: RunOptions): Run<Out>
  /** Starts a run whose events are iterated from the first on: `for await (const event of workflow.stream(input))`. */
  stream(input: In, options?: RunOptions): Run<Out>
  /** Goes on with a run from its journal, in this process or another. */
  resume(runId: RunId, options: ResumeOptions): Run<Out>
  /** The workflow as a node of another one. */
  asNode(options?: SubWorkflowOptions & { readonly id?: NodeId | undefined }): Node<In, Out>
}

export function makeWorkflow<In, Out>(program: Program, warnings: readonly Problem[]): Workflow<In, Out> {
  const { name, spec } = program.graph
  const workflow: Workflow<In, Out> = {
    name,
    program,
    description: spec.description,
    warnings,
    run: (input, options = {}) => Run.start<Out>(program, input, options, false),
    stream: (input, options = {}) => Run.start<Out>(program, input, options, true),
    resume: (runId, options) => Run.resume<Out>(program, runId, options),
    asNode: ({ id, ...options } = {}) => workflowNode<In, Out>(id ?? name, workflow, options),
  }
  return Object.freeze(workflow)
}
