/**
 * Answers a goal with a graph definition. If the graph cannot be loaded, is invalid or does not finish, the reason is
 * logged and the goal pipeline answers.
 */
import { z } from "zod"
import { node, type Workflow, workflow } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import {
  type Definition,
  type DefinitionText,
  type LoadOptions,
  loadDefinition,
  printProblems,
} from "../../definitions/index.ts"
import { channel, type RunOptions, replace } from "../../runtime/index.ts"
import { incomplete, messageOf, passOn } from "../failures.ts"
import { workflowStage } from "../stage-node.ts"
import { textOf } from "./ask-agent.ts"
import type { GoalConfig } from "./goal-config.ts"
import { goalRoutes, sources, uncited } from "./search/search-stages.ts"
import { answerOf, type GoalAnswered, goalPipeline, sequentialGoal, writeBasis } from "./sequential-goal.ts"

export interface GraphGoalConfig extends GoalConfig {
  /** The graph: a file, or its text. */
  readonly definition?: string | DefinitionText | undefined
  readonly load?: LoadOptions | undefined
  /** False: a graph that cannot answer fails the run. Default true: the pipeline answers. */
  readonly fallback?: boolean | undefined
  /** Whether the graph answers, or the pipeline. Default: USE_GRAPH_EXECUTION, else the graph if there is one. */
  readonly useGraphExecution?: boolean | undefined
}

export interface GoalWorkflow extends Workflow<string, string> {
  /** Closes what the graph's toolsets opened. */
  close(): Promise<void>
}

const NO_OUTPUT = "No output generated"
const goal = channel("goal", replace(""))
const takenText = z.string()

interface Answer {
  readonly text?: string | undefined
}

export function graphWorkflow(config: GraphGoalConfig): GoalWorkflow {
  const { fallback = true, name = "graph-goal" } = config
  const loaded = load(config)
  const graph = loaded.ok ? loaded.definition : undefined
  if (!loaded.ok && !fallback)
    throw new SuperstepError("DEFINITION_INVALID", loaded.reason, { retryable: false })
  const description = "Answers a goal with a graph definition."
  const builder = workflow(name, { description, state: [goal, incomplete, sources, goalRoutes, uncited] })
  const built =
    loaded.ok && !fallback
      ? builder.start(graphStage(loaded.definition)).build()
      : withChain(loaded, config, builder as unknown as ReturnType<typeof workflow>)
  const close = async () => await graph?.close()
  return Object.freeze({ ...(built as Workflow<string, string>), close })
}

function withChain(loaded: Loaded, config: GraphGoalConfig, builder: ReturnType<typeof workflow>) {
  const chain = workflowStage<Answer, string, GoalAnswered, string>(
    "chain",
    goalPipeline(config, (answer) => answer),
    {
      input: (_, ctx) => ctx.state.get(goal),
      output(answers, ctx) {
        for (const answer of answers) writeBasis(answer, ctx)
        return passOn(answers, ctx)
      },
    },
  )
  if (!loaded.ok) {
    const unusable = node({
      id: "graph",
      input: takenText,
      run(text: string, ctx): Answer {
        ctx.state.write(goal, text)
        ctx.log("error", `The graph is unusable; the pipeline answers instead. ${loaded.reason}`)
        return {}
      },
    })
    return builder.start(unusable).edge(unusable, chain).build()
  }
  const graph = tryingStage(loaded.definition)
  const answer = node("answer", ({ text = "" }: Answer) => text)
  return builder
    .start(graph)
    .switch(graph, [{ when: ({ text }) => text !== undefined, to: answer, label: "answered" }], chain)
    .output(answer, chain)
    .build()
}

function graphStage({ workflow: graph }: Definition) {
  return workflowStage<string, string, unknown, string>("graph", graph, {
    schema: takenText,
    input: (text) => text,
    output: resultOf,
  })
}

/** Records the failure: after a restart the pipeline continues, and the graph does not run again. */
function tryingStage({ workflow: graph }: Definition) {
  return workflowStage<string, string, unknown, Answer>("graph", graph, {
    schema: takenText,
    input(text, ctx) {
      ctx.state.write(goal, text)
      return text
    },
    output: (outputs) => ({ text: resultOf(outputs) }),
    failed(error, ctx) {
      // Beyond the budget, the pipeline could not continue either.
      ctx.checkBudget()
      ctx.log("error", `The graph failed; the pipeline answers instead. ${messageOf(error)}`)
      return {}
    },
  })
}

function resultOf(outputs: readonly unknown[]): string {
  const [first = NO_OUTPUT] = outputs
  return textOf(first)
}

type Loaded =
  | { readonly ok: true; readonly definition: Definition }
  | { readonly ok: false; readonly reason: string }

function load({ definition: source, load: options }: GraphGoalConfig): Loaded {
  if (source === undefined) {
    const reason = "There is no graph definition: set `definition`, or `graph_definition` in a file."
    return { ok: false, reason }
  }
  try {
    const loaded = loadDefinition(source, options)
    const { definition } = loaded
    if (definition !== undefined) return { ok: true, definition }
    const errors = loaded.diagnostics.filter(({ severity }) => severity === "error")
    return {
      ok: false,
      reason: printProblems({ ...loaded, diagnostics: errors }, { color: false }).trimEnd(),
    }
  } catch (error) {
    return { ok: false, reason: messageOf(error) }
  }
}

/** Returns the graph workflow or the pipeline, as `useGraphExecution` decides. */
export function goalWorkflow(config: GraphGoalConfig): GoalWorkflow {
  if (usesGraph(config)) return graphWorkflow(config)
  return Object.freeze({ ...sequentialGoal(config), close: async () => undefined })
}

export async function runGraphWorkflow(
  config: GraphGoalConfig,
  goalText: string,
  options?: RunOptions,
): Promise<string> {
  return await runAndClose(graphWorkflow(config), goalText, options)
}

export async function runGoal(
  config: GraphGoalConfig,
  goalText: string,
  options?: RunOptions,
): Promise<string> {
  return await runAndClose(goalWorkflow(config), goalText, options)
}

async function runAndClose(graph: GoalWorkflow, goalText: string, options?: RunOptions): Promise<string> {
  try {
    return await answerOf(graph.run(goalText, options))
  } finally {
    await graph.close()
  }
}

export function usesGraph({ useGraphExecution, definition, load: options }: GraphGoalConfig): boolean {
  if (useGraphExecution !== undefined) return useGraphExecution
  const { USE_GRAPH_EXECUTION: setting } = options?.env ?? process.env
  if (setting !== undefined && setting.trim() !== "") return /^(?:1|true|yes|on)$/i.test(setting.trim())
  return definition !== undefined
}
