/** A research, made into something to run: which models answer, what is searched, what it may use. */
import type { Labels } from "@superstep/engine"
import type { ModelRef } from "@superstep/engine/models"
import type { ResearchBudget, ResearchRole, ResearchTool, TextEmbeddings } from "@superstep/engine/patterns"
import { chooseModels } from "./choose-models.ts"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags, OutputFlags } from "./common-flags.ts"
import { openDocuments } from "./open-documents.ts"
import type { OpenedWorkflow } from "./open-workflow.ts"
import { hasKey } from "./providers.ts"
import { labelsOf } from "./run-labels.ts"
import { usageError } from "./usage-error.ts"

/** What a run of it carries, so that it can be opened again. */
export interface ResearchSettings {
  readonly deep?: true | undefined
  /** Absolute. */
  readonly docs?: readonly string[] | undefined
  readonly embeddings?: string | undefined
  /** A search engine; absent: the one that the environment has a key for. */
  readonly search?: string | undefined
  /** False: nothing of the web is searched or read. */
  readonly web?: false | undefined
  readonly budget?: ResearchBudget | undefined
}

export type ResearchFlags = Pick<DefinitionFlags, "model" | "price"> & Pick<OutputFlags, "quiet" | "json">

const LOOP: readonly ResearchRole[] = ["thinker", "gap", "selector", "judge", "writer"]
const DEEP: readonly ResearchRole[] = ["planner", ...LOOP, "synthesizer"]

/** Labels of one run. */
const MOST_PIECES = 20

export async function openResearch(
  settings: ResearchSettings,
  cli: Cli,
  flags: ResearchFlags,
): Promise<OpenedWorkflow> {
  const { deepResearch, iterativeResearch } = await import("@superstep/engine/patterns")
  const { researchProgress } = await import("./progress/research-progress.ts")
  const { deep, budget } = settings
  const roles = deep ? DEEP : LOOP
  const chosen = await chooseModels(flags, cli)
  const given = defaultModel(cli.io.env)
  const models = Object.fromEntries(roles.map((role) => [role, chosen.model(role, given) ?? given]))
  await chosen.check([...roles, "mode"])
  const web = await webTools(settings, cli)
  const documents = await openDocuments(settings, cli, flags.quiet === true)
  try {
    const tools: ResearchTool[] = [...web, ...documents.tools]
    if (tools.length === 0) throw nothingToSearch()
    const embeddings: TextEmbeddings | undefined = documents.embeddings
    const options = { model: given, models, tools, budget, embeddings }
    const workflow = deep ? deepResearch(options) : iterativeResearch(options)
    return {
      name: workflow.name,
      workflow: workflow as OpenedWorkflow["workflow"],
      labels: researchLabels(settings, flags, cli.io.cwd),
      progress: researchProgress,
      close: documents.close,
    }
  } catch (error) {
    await documents.close()
    throw error
  }
}

/** The model that `detectResearchMode` asks. */
export async function modeModel(cli: Cli, flags: ResearchFlags): Promise<ModelRef> {
  const chosen = await chooseModels(flags, cli)
  const given = defaultModel(cli.io.env)
  const model = chosen.model("mode", given) ?? given
  await chosen.check(["mode", ...DEEP])
  return model
}

function defaultModel(env: Cli["io"]["env"]): ModelRef {
  const isAnthropic = !hasKey(env, "OPENAI_API_KEY") && hasKey(env, "ANTHROPIC_API_KEY")
  return isAnthropic ? "anthropic/claude-sonnet-4-5" : "openai/gpt-5-mini"
}

async function webTools({ search, web }: ResearchSettings, { io }: Cli): Promise<ResearchTool[]> {
  if (web === false) return []
  const { webSearch, webSearchFromEnv, pageReader } = await import("@superstep/engine/tools")
  const { webSearchTool, pageTool } = await import("@superstep/engine/patterns")
  const { env } = io
  const variable = search === undefined ? undefined : VARIABLES[search]
  if (variable !== undefined && !hasKey(env, variable)) {
    throw usageError(`--search ${search} needs ${variable} in the environment.`)
  }
  const engine = search === undefined ? webSearchFromEnv(env) : webSearch(search as never, { env })
  if (engine === undefined) return []
  const reader = pageReader()
  return [webSearchTool({ search: engine, reader }), pageTool(reader)]
}

/** What each search engine needs. */
const VARIABLES: Readonly<Record<string, string>> = {
  searxng: "SEARXNG_URL",
  brave: "BRAVE_API_KEY",
  tavily: "TAVILY_API_KEY",
  serper: "SERPER_API_KEY",
}

function nothingToSearch(): Error {
  const names = Object.values(VARIABLES)
    .join(", ")
    .replace(/, (?=\w+$)/, " or ")
  return usageError(
    `There is nothing to search. Give documents with --docs PATH, or set ${names} for the web.`,
  )
}

function researchLabels(settings: ResearchSettings, flags: ResearchFlags, cwd: string): Labels {
  const { file: _, ...labels } = labelsOf("", flags, cwd)
  // A store takes no longer ones: many documents are named by several.
  const pieces = JSON.stringify(settings).match(/.{1,500}/gsu) ?? []
  // A run with more of them cannot be opened again by itself.
  if (pieces.length > MOST_PIECES) return labels
  return { ...labels, ...Object.fromEntries(pieces.map((piece, i) => [pieceName(i), piece])) }
}

function pieceName(index: number): string {
  return index === 0 ? "research" : `research ${index + 1}`
}

/** What `researchLabels` wrote; undefined for a run of something else. */
export function settingsIn(labels: Labels): ResearchSettings | undefined {
  if (labels.research === undefined) return undefined
  const pieces = Array.from({ length: MOST_PIECES }, (_, i) => labels[pieceName(i)] ?? "")
  return JSON.parse(pieces.join("")) as ResearchSettings
}
