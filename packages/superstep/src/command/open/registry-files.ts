/** The files of `apply` and `diff`: definitions as the registry stores them, validated first. */
import type { Json } from "@superstep/engine"
import { agentData, type Loaded } from "@superstep/engine/definitions"
import type { Cli } from "../cli.ts"
import type { DefinitionFlags, OutputFlags } from "../flags.ts"
import { definitionError, printLoaded, usageError } from "../print/errors.ts"
import { loadFile } from "./load-definition.ts"
import type { OpenStore } from "./store.ts"

export interface RegistryFile {
  readonly file: string
  /** A graph, which may have agents; or agents alone. */
  readonly kind: "graph" | "agents"
  /** The id of the graph in the registry. */
  readonly id: string
  /** For agents: `agents` alone, by id or as a list. */
  readonly data: Json
}

type Flags = Pick<DefinitionFlags, "lenient" | "set" | "setSecret" | "untrusted" | "agents"> &
  Pick<OutputFlags, "quiet">

/**
 * Throws if a file is invalid. The file of `--agents` is read first. A graph may use agents of `--agents`, otherwise
 * those of the other files and of the store.
 */
export async function readRegistryFiles(
  cli: Cli,
  store: OpenStore,
  files: readonly string[],
  flags: Flags,
): Promise<readonly RegistryFile[]> {
  const alone: { readonly file: string; readonly loaded: Loaded }[] = []
  for (const file of files) alone.push({ file, loaded: await loadFile({ file }, cli, flags) })
  const fromOtherFiles: Agents = Object.assign({}, ...alone.map(({ file, loaded }) => agentsIn(file, loaded)))
  const read = flags.agents === undefined ? [] : [await readAgentsFile(cli, flags.agents, flags)]
  for (const { file, loaded } of alone) {
    const isWhole = loaded.definition !== undefined || flags.agents !== undefined
    const whole = isWhole ? loaded : await loadWithKnown(cli, store, { file, loaded, fromOtherFiles }, flags)
    read.push(await registryFile(cli, file, whole, flags))
  }
  return read
}

async function registryFile(cli: Cli, file: string, loaded: Loaded, flags: Flags): Promise<RegistryFile> {
  const { definition } = loaded
  if (definition === undefined) throw await definitionError(loaded)
  await definition.close()
  if (!flags.quiet) await printLoaded(loaded, cli.err)
  const { dialect, name: id, data } = definition
  if (dialect === "graph") return { file, kind: "graph", id, data }
  if (dialect === "agents") return { file, kind: "agents", id, data: agentsOf(file, data) }
  throw usageError(
    `${file} has steps. The store holds graphs, with nodes and edges, and agents. Run steps from their file. ` +
      "To use its agents in a graph, name the file with --agents.",
  )
}

/** `--agents FILE`: the agents of a file, whatever else is in it. */
async function readAgentsFile(cli: Cli, file: string, flags: Flags): Promise<RegistryFile> {
  const { agents: _, ...others } = flags
  const loaded = await loadFile({ file }, cli, others)
  const { definition } = loaded
  if (definition === undefined) throw await definitionError(loaded)
  await definition.close()
  return { file, kind: "agents", id: definition.name, data: agentsOf(file, definition.data) }
}

/** A reserved name that cannot be a file. */
const KNOWN = "registry:agents.json"

interface AloneFile {
  readonly file: string
  readonly loaded: Loaded
  /** Agents that the other files define. */
  readonly fromOtherFiles: Agents
}

async function loadWithKnown(
  cli: Cli,
  store: OpenStore,
  { file, loaded, fromOtherFiles }: AloneFile,
  flags: Flags,
): Promise<Loaded> {
  const stored = (await store.registry.agents()).map((row) => [row.id, agentData(row)])
  const agents = { ...Object.fromEntries(stored), ...fromOtherFiles }
  if (Object.keys(agents).length === 0) return loaded
  const text = JSON.stringify({ agents })
  const read = (name: string) => (name === KNOWN ? text : undefined)
  return await loadFile({ file, load: { agents: KNOWN, read } }, cli, flags)
}

function agentsIn(file: string, { definition }: Loaded): Agents {
  return definition?.dialect === "agents" ? agentsOf(file, definition.data) : {}
}

interface AgentsDocument {
  readonly agents: { readonly [id: string]: { readonly [field: string]: Json } }
  readonly models?: { readonly [name: string]: { readonly [field: string]: Json } }
}

type Agents = { readonly [id: string]: Json }

/** The store holds agents without their file, so models that the file defines are resolved. */
function agentsOf(file: string, data: Json): Agents {
  const { agents, models = {} } = data as unknown as AgentsDocument
  return Object.fromEntries(
    Object.entries(agents).map(([id, agent]) => {
      const model = typeof agent.model === "string" ? models[agent.model] : undefined
      if (model === undefined) return [id, agent]
      const { provider, model: name, ...settings } = model
      const [setting] = Object.keys(settings)
      if (setting === undefined) return [id, { ...agent, model: `${provider}/${name}` }]
      throw usageError(
        `Agent "${id}" of ${file} uses model "${agent.model}", which sets "${setting}". The store holds only the ` +
          "name of an agent's model. Put agents and models into the graph's own file.",
      )
    }),
  )
}
