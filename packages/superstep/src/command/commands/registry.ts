/** `superstep apply`, `diff`, `export` and `delete`: the definitions and agents of the store. */
import { type Json, type Registry, SuperstepError } from "@superstep/engine"
import {
  type Applied,
  type AppliedAgent,
  agentData,
  agentRows,
  applyAgents,
  applyDefinition,
  type DefinitionChange,
  diffAgents,
  diffDefinition,
  documentText,
  exportDefinition,
  independentAgents,
  type JsonRecord,
  type Loaded,
  removeAgent,
  removeDefinition,
  rowsOf,
  withFileModels,
} from "@superstep/engine/definitions"
import { Command, Option } from "commander"
import { type Cli, EXIT } from "../cli.ts"
import {
  complete,
  type DefinitionFlags,
  fileFlags,
  type OutputFlags,
  outputFlags,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import { loadFile } from "../open/load-definition.ts"
import { type OpenStore, onStore, storeOf } from "../open/store.ts"
import { definitionError, printLoaded, usageError } from "../print/errors.ts"
import { counted } from "../print/figures.ts"
import {
  jsonText,
  printJsonLines,
  printText,
  sanitize,
  sanitizeLine,
  type Terminal,
} from "../terminal/terminal.ts"

type FileFlags = OutputFlags & StoreFlags & DefinitionFlags

/** Applying the same files twice changes nothing. */
function applyCommand(cli: Cli): Command {
  const command = new Command()
    .description("Create or update graphs and agents in the store.")
    .argument("<file...>", "graphs, or files with agents and no workflow")
    .action((files: string[], flags: FileFlags) => apply(cli, files, flags))
  return complete(
    command,
    [fileFlags, storeFlags, outputFlags],
    "superstep apply support.json --agents agents.yaml",
    "The agents of --agents are stored too.",
  )
}

async function apply(cli: Cli, files: readonly string[], flags: FileFlags): Promise<void> {
  const store = await storeOf(cli, flags)
  try {
    // One invalid file prevents all of them from being applied.
    const read = await readRegistryFiles(cli, store, files, flags)
    const agentsFirst = [...read].sort((a, b) => a.kind.localeCompare(b.kind))
    for (const file of agentsFirst) await applyOne(cli, store, file, flags)
  } finally {
    await store.close()
  }
}

async function applyOne(
  cli: Cli,
  { registry }: OpenStore,
  { id, kind, data }: RegistryFile,
  flags: FileFlags,
): Promise<void> {
  if (kind === "agents") {
    for (const agent of await applyAgents(registry, data)) printApplied(cli, "agent", agent, flags)
    return
  }
  const { agents, ...applied } = await applyDefinition(registry, data, { id })
  const own = applied.changes.filter(({ of }) => of !== "agent")
  printApplied(cli, "workflow", { ...applied, changes: own }, flags)
  for (const agent of agents) printApplied(cli, "agent", agent, flags)
}

function printApplied(
  { out }: Cli,
  kind: "agent" | "workflow",
  { id, outcome, changes }: AppliedAgent | Omit<Applied, "agents">,
  { json, quiet }: FileFlags,
): void {
  if (json) return out.line(jsonText({ [kind]: id, outcome, changes }))
  if (quiet) return
  const { green, dim, magenta } = out.paint
  const paint = { created: green, changed: magenta, unchanged: dim }[outcome]
  out.line(`${paint(outcome)} ${kind} ${sanitizeLine(id)}`)
  if (outcome === "changed") printChanges(out, changes, "  ")
}

const MARKS = { added: "+", removed: "-", changed: "~", reordered: "~" } as const

function printChanges(out: Terminal, changes: readonly DefinitionChange[], indent = ""): void {
  const { green, red, magenta } = out.paint
  const paints = { added: green, removed: red, changed: magenta, reordered: magenta }
  for (const { kind, words } of changes) {
    printText(out, sanitizeLine(words), { label: `${indent}${paints[kind](MARKS[kind])} ` })
  }
}

function diffCommand(cli: Cli): Command {
  const command = new Command()
    .description("Show what applying a file would change in the store; exit with 1 if anything.")
    .argument("<file>", "a graph, or a file with agents and no workflow")
    .action(onStore(cli, diff))
  return complete(command, [fileFlags, storeFlags, outputFlags], "superstep diff support.json")
}

async function diff(cli: Cli, store: OpenStore, file: string, flags: FileFlags): Promise<void> {
  const changes: DefinitionChange[] = []
  for (const one of await readRegistryFiles(cli, store, [file], flags))
    changes.push(...(await changesOf(store, one)))
  if (changes.length > 0) cli.exit(EXIT.failed)
  if (flags.json) printJsonLines(cli.out, changes)
  else if (changes.length > 0) printChanges(cli.out, changes)
  else if (!flags.quiet) cli.err.line(`${sanitizeLine(file)} matches the store.`)
}

async function changesOf(
  { registry }: OpenStore,
  { kind, id, data }: RegistryFile,
): Promise<readonly DefinitionChange[]> {
  if (kind === "agents") {
    const rows = agentRows(data)
    return diffAgents(await registry.agents(rows.map((row) => row.id)), rows)
  }
  const { definition, agents } = rowsOf(data, id)
  const stored = await registry.definition(definition.workflow.id)
  const known = await registry.agents(agents.map((row) => row.id))
  return diffDefinition(stored, data, { id, agents: known })
}

const ID = "the id of a definition or of an agent"

interface ExportFlags extends OutputFlags, StoreFlags {
  readonly format: "yaml" | "json"
}

function exportCommand(cli: Cli): Command {
  const command = new Command()
    .description("Print a definition or an agent from the store, as it was applied.")
    .argument("<id>", ID)
    .addOption(
      new Option("--format <format>", "print in this format").choices(["yaml", "json"]).default("json"),
    )
    .action(onStore(cli, print))
  return complete(command, [storeFlags, outputFlags], "superstep export support --format yaml > support.yaml")
}

async function print(
  { out }: Cli,
  { registry }: OpenStore,
  id: string,
  { format, json }: ExportFlags,
): Promise<void> {
  const data =
    ((await exportDefinition(registry, id)) as Json | undefined) ?? (await agentDocument(registry, id))
  if (json) return out.line(jsonText(data))
  const text = documentText(data, format)
  out.write(out.isTerminal ? sanitize(text) : text)
}

async function agentDocument(registry: Registry, id: string): Promise<Json> {
  const [agent] = await registry.agents([id])
  if (agent === undefined) throw await unknownId(registry, id)
  return { agents: { [id]: agentData(agent) as Json } }
}

interface DeleteFlags extends OutputFlags, StoreFlags {
  readonly force?: true | undefined
}

function deleteCommand(cli: Cli): Command {
  const command = new Command()
    .description(
      "Delete a definition, with the agents that were applied with it, or an agent from the store.",
    )
    .argument("<id>", ID)
    .option("--force", "delete it even if it has unfinished runs or other definitions use it")
    .action(onStore(cli, remove))
  return complete(command, [storeFlags, outputFlags], "superstep delete support")
}

async function remove({ out, err }: Cli, store: OpenStore, id: string, flags: DeleteFlags): Promise<void> {
  const { registry } = store
  const { force, json, quiet } = flags
  if ((await registry.definition(id)) === undefined) {
    const [agent] = await registry.agents([id])
    if (agent === undefined) throw await unknownId(registry, id)
    await removeAgent(registry, id, { force })
    if (json) out.line(jsonText({ agent: id, deleted: true }))
    else if (!quiet) err.line(`Deleted agent ${sanitizeLine(id)}.`)
    return
  }
  const removed = await removeDefinition(registry, store, id, { force })
  if (json) return out.line(jsonText({ workflow: id, deleted: true, ...removed }))
  if (quiet) return
  const { agents, kept, runs } = removed
  err.line(`Deleted ${sanitizeLine(id)}.`)
  if (agents.length > 0) err.line(`  Deleted its agents: ${agents.map(sanitizeLine).join(", ")}`)
  if (kept.length > 0)
    err.line(`  Kept agents that other definitions use: ${kept.map(sanitizeLine).join(", ")}`)
  if (runs > 0) err.line(`  ${counted(runs, "unfinished run")} cannot continue.`)
}

const MAX_IDS = 10

/** The message lists the ids in the store. */
async function unknownId(registry: Registry, id: string): Promise<SuperstepError> {
  const listed = (what: string, rows: readonly { readonly id: string }[]) => {
    const ids = rows.slice(0, MAX_IDS).map((row) => sanitizeLine(row.id))
    return rows.length === 0 ? [] : [`Its ${what}: ${ids.join(", ")}${rows.length > MAX_IDS ? ", …" : ""}.`]
  }
  const all = [
    ...listed("definitions", await registry.definitions()),
    ...listed("agents", await registry.agents()),
  ]
  const text = `The store has no definition or agent "${sanitizeLine(id)}". ${all.join(" ") || "It contains none."}`
  return new SuperstepError("DEFINITION_UNKNOWN", text)
}

export const commands = {
  apply: applyCommand,
  diff: diffCommand,
  export: exportCommand,
  delete: deleteCommand,
}

// The files of `apply` and `diff`: definitions as the registry stores them, validated first.

interface RegistryFile {
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
async function readRegistryFiles(
  cli: Cli,
  store: OpenStore,
  files: readonly string[],
  flags: Flags,
): Promise<readonly RegistryFile[]> {
  const alone: { readonly file: string; readonly loaded: Loaded }[] = []
  for (const file of files) alone.push({ file, loaded: await loadFile({ file }, cli, flags) })
  const fromOtherFiles: Agents = Object.assign({}, ...alone.map(({ loaded }) => agentsIn(loaded)))
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
  if (dialect === "agents") return { file, kind: "agents", id, data: agentsOf(data) }
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
  return { file, kind: "agents", id: definition.name, data: agentsOf(definition.data) }
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
  const stored = (await independentAgents(store.registry)).map((row) => [row.id, agentData(row)])
  const agents = { ...Object.fromEntries(stored), ...fromOtherFiles }
  if (Object.keys(agents).length === 0) return loaded
  const text = JSON.stringify({ agents })
  const read = (name: string) => (name === KNOWN ? text : undefined)
  return await loadFile({ file, load: { agents: KNOWN, read } }, cli, flags)
}

function agentsIn({ definition }: Loaded): Agents {
  return definition?.dialect === "agents" ? agentsOf(definition.data) : {}
}

type Agents = { readonly [id: string]: Json }

/** The store holds agents without their file, so each gets the models that it uses. */
function agentsOf(data: Json): Agents {
  const { agents, ...file } = data as { readonly agents: { readonly [id: string]: JsonRecord } } & JsonRecord
  const entries = Object.entries(agents).map(([id, agent]) => [id, withFileModels(agent, file)])
  return Object.fromEntries(entries) as Agents
}
