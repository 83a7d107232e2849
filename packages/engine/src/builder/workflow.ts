/** A built workflow: immutable, usable for any number of concurrent runs. */

import type { NodeId, Problem, RunId } from "../core/index.ts"
import {
  type AnyState,
  type Callable,
  type Context,
  type Handler,
  MultiOutput,
  type Program,
  type ResumeOptions,
  Run,
  type RunOptions,
  type Schema,
} from "../runtime/index.ts"
import { checkSubWorkflowOptions, type SubWorkflowOptions } from "./options.ts"
import type { Node, NodeDefinition } from "./wiring.ts"

export interface Workflow<In = never, Out = unknown, State = AnyState> extends Callable<In, Out, State> {
  readonly description: string | undefined
  /** Validation findings that may be intended: self loops, dead ends. */
  readonly warnings: readonly Problem[]
  /** Starts a run. Await it for the result; or hold it to watch, answer and cancel. */
  run(input: In, options?: RunOptions): Run<Out, State>
  /** Starts a run and streams all its events: `for await (const event of workflow.stream(input))`. */
  stream(input: In, options?: RunOptions): Run<Out, State>
  /** Resumes a run from its journal, in this process or another. */
  resume(runId: RunId, options: ResumeOptions): Run<Out, State>
  /** The workflow as a node of another one. */
  asNode(options?: SubWorkflowOptions & { readonly id?: NodeId | undefined }): Node<In, Out>
}

export function makeWorkflow<In, Out, State>(
  program: Program,
  warnings: readonly Problem[],
): Workflow<In, Out, State> {
  const { name, spec } = program.graph
  const workflow: Workflow<In, Out, State> = {
    name,
    program,
    description: spec.description,
    warnings,
    run: (input, options = {}) => Run.start<Out, State>(program, input, options, false),
    stream: (input, options = {}) => Run.start<Out, State>(program, input, options, true),
    resume: (runId, options) => Run.resume<Out, State>(program, runId, options),
    asNode: ({ id, ...options } = {}) =>
      workflowNode(id ?? name, workflow as unknown as Callable<In, Out>, options),
  }
  return Object.freeze(workflow)
}

/** A node that runs a workflow and sends on its outputs. */
function workflowNode<In, Out>(
  id: NodeId,
  workflow: Callable<In, Out>,
  options: SubWorkflowOptions,
): Node<In, Out> {
  checkSubWorkflowOptions(id, options)
  const { onRequest, ...policies } = options
  const start = workflow.program.nodes[workflow.program.graph.start]
  const run = async (message: In, ctx: Context) =>
    new MultiOutput(await ctx.call(workflow, message, { onRequest }))
  const definition: NodeDefinition = {
    kind: "workflow",
    // The start node's handlers define the workflow's input: a message that they reject is not delivered.
    handlers: (start?.handlers ?? []).map(({ schema, check }) => ({
      schema: unchanged(schema),
      check,
      run: run as Handler,
    })),
    nested: workflow as unknown as Callable,
    ...policies,
  }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

/** Validates with the schema but passes the original message: the start node itself parses it. */
function unchanged(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined
  const standard = schema["~standard"]
  const validate: Schema["~standard"]["validate"] = (value) => {
    const keep = (result: Awaited<ReturnType<typeof standard.validate>>) =>
      result.issues === undefined ? { value } : result
    const result = standard.validate(value)
    return result instanceof Promise ? result.then(keep) : keep(result)
  }
  return { "~standard": { ...standard, validate } }
}
