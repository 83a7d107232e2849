/** `superstep diff`: what `apply` would change. */
import {
  agentRows,
  type DefinitionChange,
  diffAgents,
  diffDefinition,
  rowsOf,
} from "@superstep/engine/definitions"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import {
  type DefinitionFlags,
  definitionFlags,
  type OutputFlags,
  outputFlags,
  type StoreFlags,
  storeFlags,
} from "../common-flags.ts"
import { EXIT } from "../exit-codes.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { printChanges } from "../print-changes.ts"
import { type RegistryFile, readAgentsFile, readRegistryFiles } from "../registry-file.ts"
import { foreignLine } from "../terminal.ts"
import { useStore } from "../use-store.ts"

type DiffFlags = OutputFlags & StoreFlags & DefinitionFlags

export function command(cli: Cli): Command {
  const made = new Command()
    .description("What applying a file would change in the store. Exit code 1 if anything.")
    .argument("<file>", "a graph, or a file with agents and no workflow")
    .addHelpText(
      "after",
      "\nFor example:\n  superstep diff support.json\n  superstep diff support.json --agents agents.yaml",
    )
    .action((file: string, flags: DiffFlags) =>
      useStore(cli, flags, (store) => diff(cli, store, file, flags)),
    )
  for (const add of [definitionFlags, storeFlags, outputFlags]) add(made)
  return made
}

async function diff(cli: Cli, store: OpenStore, file: string, flags: DiffFlags): Promise<void> {
  const given = flags.agents === undefined ? [] : [await readAgentsFile(cli, flags.agents, flags)]
  const read = await readRegistryFiles(cli, store, [file], flags)
  const changes: DefinitionChange[] = []
  for (const one of [...given, ...read]) changes.push(...(await changesOf(store, one)))
  if (changes.length > 0) cli.exit(EXIT.failed)
  if (flags.json) for (const change of changes) cli.out.line(jsonLine(change))
  else if (changes.length > 0) printChanges(cli.out, changes)
  else if (!flags.quiet) cli.err.line(`${foreignLine(file)} is as it is in the store.`)
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
