/** An agent under an id of its own, with functions for what it is given and what becomes of its answer. */
import type { Node, NodePolicies } from "../builder/index.ts"
import type { NodeId } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"
import type { Agent } from "./agent.ts"
import { coreOf } from "./agent-core.ts"
import { runAgent } from "./agent-loop.ts"

export interface AgentNodeOptions<In, Out, Sent> extends NodePolicies {
  readonly id: NodeId
  /** What the agent gets for a message; absent: the message. */
  readonly input?: ((message: In, ctx: Context) => unknown) | undefined
  /** What the node sends for an answer; absent: the answer. */
  readonly output?: ((answer: Out, ctx: Context, message: In) => Sent) | undefined
}

export function agentNode<In, Out, Sent = Out>(
  agent: Agent<never, Out>,
  options: AgentNodeOptions<In, Out, Sent>,
): Node<In, Awaited<Sent>> {
  const { id, input, output, ...policies } = options
  const core = coreOf(agent as unknown as Agent)
  const run = async (message: In, ctx: Context) => {
    const given = input === undefined ? message : await input(message, ctx)
    const answer = (await runAgent(core, given, ctx)) as Out
    return output === undefined ? answer : await output(answer, ctx, message)
  }
  const definition = Object.freeze({ kind: "agent", handlers: [{ run: run as never }], ...policies })
  return Object.freeze({ id, definition }) as Node<In, Awaited<Sent>>
}
