/** FILE of `apply` and `diff`: a definition as the registry keeps it, checked before anything is done with it. */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import type { Json } from "@superstep/engine"
import { agentData, type Loaded } from "@superstep/engine/definitions"
import type { Cli } from "./cli.ts"
import type { DefinitionFlags, OutputFlags } from "./common-flags.ts"
import { definitionError, printLoaded } from "./definition-error.ts"
import { loadFile } from "./load-file.ts"
import type { OpenStore } from "./open-store.ts"
import { usageError } from "./usage-error.ts"

export interface RegistryFile {
  readonly file: string
  /** A graph, which may bring agents; or agents alone. */
  readonly kind: "graph" | "agents"
  /** What the graph is known by. */
  readonly id: string
  /** Of agents: `agents` alone, by id or as a list. */
  readonly data: Json
}

type Flags = Pick<DefinitionFlags, "lenient" | "set" | "agents"> & Pick<OutputFlags, "quiet">

/** Throws what is wrong with it. A graph may name agents of the store, and those of `--agents`. */
export async function readRegistryFile(
  cli: Cli,
  store: OpenStore,
  file: string,
  flags: Flags,
): Promise<RegistryFile> {
  const loaded = await loadWithStored(cli, store, file, flags)
  const { definition } = loaded
  if (definition === undefined) throw await definitionError(loaded)
  await definition.close()
  if (!flags.quiet) await printLoaded(loaded, cli.err)
  const { dialect, name: id, data } = definition
  if (dialect === "graph") return { file, kind: "graph", id, data }
  if (dialect === "agents") return { file, kind: "agents", id, data: agentsOf(file, data) }
  throw usageError(
    `${file} has steps: the store keeps graphs, with nodes and edges, and agents. Run steps from their file; ` +
      "with a graph, --agents takes the agents of this one.",
  )
}

/** `--agents FILE`: the agents of a file, whatever else is in it. */
export async function readAgentsFile(cli: Cli, file: string, flags: Flags): Promise<RegistryFile> {
  const { agents: _, ...others } = flags
  const loaded = await loadFile({ file }, cli, others)
  const { definition } = loaded
  if (definition === undefined) throw await definitionError(loaded)
  await definition.close()
  return { file, kind: "agents", id: definition.name, data: agentsOf(file, definition.data) }
}

/** A name that no file has. */
const STORED = "the agents of the store.json"

async function loadWithStored(cli: Cli, store: OpenStore, file: string, flags: Flags): Promise<Loaded> {
  const alone = await loadFile({ file }, cli, flags)
  if (alone.definition !== undefined || flags.agents !== undefined) return alone
  const rows = await store.registry.agents()
  if (rows.length === 0) return alone
  const agents = JSON.stringify({ agents: Object.fromEntries(rows.map((row) => [row.id, agentData(row)])) })
  const read = (name: string) => (name === STORED ? agents : readFileSync(resolve(cli.io.cwd, name), "utf8"))
  return await loadFile({ file, load: { agents: STORED, read } }, cli, flags)
}

interface AgentsDocument {
  readonly agents: { readonly [id: string]: { readonly [field: string]: Json } }
  readonly models?: { readonly [name: string]: { readonly [field: string]: Json } }
}

/** Agents stand for themselves in the store: the name of a model of the file becomes the model. */
function agentsOf(file: string, data: Json): Json {
  const { agents, models = {} } = data as unknown as AgentsDocument
  return Object.fromEntries(
    Object.entries(agents).map(([id, agent]) => {
      const model = typeof agent.model === "string" ? models[agent.model] : undefined
      if (model === undefined) return [id, agent]
      const { provider, model: name, ...settings } = model
      const [setting] = Object.keys(settings)
      if (setting === undefined) return [id, { ...agent, model: `${provider}/${name}` }]
      throw usageError(
        `Agent "${id}" of ${file} uses model "${agent.model}", which has "${setting}": the store keeps agents with ` +
          "the name of a model alone. Write agents and models into the graph's own file.",
      )
    }),
  )
}
