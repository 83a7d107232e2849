/** Nodes of patterns, with the kind that diagrams show: agents, and workflows inside workflows. */
import type { Node, NodePolicies } from "../builder/index.ts"
import { isSuperstepError } from "../core/index.ts"
import type { Callable, Context, Schema } from "../runtime/index.ts"

type Run<In, Out> = (message: In, ctx: Context) => Promise<Out> | Out

export function agentStage<In, Out>(
  id: string,
  run: Run<In, Out>,
  policies: NodePolicies & { readonly input?: Schema | undefined } = {},
): Node<In, Out> {
  const { input, ...rest } = policies
  return stage(id, { kind: "agent", handlers: [{ schema: input, run: run as never }], ...rest })
}

interface WorkflowStage<In, Inner, InnerOut, Out> {
  /** The schema of the node's messages. Default: any. */
  readonly schema?: Schema | undefined
  /** The input of the workflow. */
  readonly input: (message: In, ctx: Context) => Inner
  /** What the node sends for the outputs, and for a failure. Without `failed`, the failure is the node's own. */
  readonly output: (outputs: readonly InnerOut[], ctx: Context) => Out
  readonly failed?: ((error: unknown, ctx: Context) => Out) | undefined
}

export function workflowStage<In, Inner, InnerOut, Out>(
  id: string,
  inner: Callable<Inner, InnerOut>,
  { schema, input, output, failed }: WorkflowStage<In, Inner, InnerOut, Out>,
): Node<In, Out> {
  const run = async (message: In, ctx: Context): Promise<Out> => {
    const value = input(message, ctx)
    try {
      return output(await called(inner, value, ctx), ctx)
    } catch (error) {
      if (failed === undefined || ctx.signal.aborted) throw error
      return failed(error, ctx)
    }
  }
  return stage(id, {
    kind: "workflow",
    handlers: [{ schema, run: run as never }],
    nested: inner as Callable<never, unknown>,
  })
}

/** The outputs of a called workflow. A failure inside is thrown unchanged. */
export async function called<In, Out>(
  inner: Callable<In, Out>,
  input: In,
  ctx: Context,
): Promise<readonly Out[]> {
  try {
    return await ctx.call(inner, input)
  } catch (error) {
    throw isSuperstepError(error) && error.cause instanceof Error ? error.cause : error
  }
}

function stage<In, Out>(id: string, definition: Node["definition"]): Node<In, Out> {
  return Object.freeze({ id, definition: Object.freeze(definition) })
}
