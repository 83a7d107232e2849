/** `superstep apply`: makes the store's definitions those of the files. Doing so twice changes nothing. */
import { type Applied, type AppliedAgent, applyAgents, applyDefinition } from "@superstep/engine/definitions"
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
import { jsonLine } from "../json-line.ts"
import { type OpenStore, openStore, storeNotices } from "../open-store.ts"
import { printChanges } from "../print-changes.ts"
import { type RegistryFile, readAgentsFile, readRegistryFiles } from "../registry-file.ts"
import { foreignLine } from "../terminal.ts"

type ApplyFlags = OutputFlags & StoreFlags & DefinitionFlags

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Puts graph definitions, and files with agents, into the store; or changes them there.")
    .argument("<file...>", "graphs, or files with agents and no workflow")
    .addHelpText(
      "after",
      "\nThe agents of --agents go into the store too.\n\nFor example:\n  superstep apply support.json --agents agents.yaml\n  superstep run support",
    )
    .action((files: string[], flags: ApplyFlags) => apply(cli, files, flags))
  for (const add of [definitionFlags, storeFlags, outputFlags]) add(made)
  return made
}

async function apply(cli: Cli, files: readonly string[], flags: ApplyFlags): Promise<void> {
  const store = await openStore(flags.store, cli.io.cwd, storeNotices(cli))
  try {
    const given = flags.agents === undefined ? [] : [await readAgentsFile(cli, flags.agents, flags)]
    // One that is wrong keeps all of them out.
    const read = await readRegistryFiles(cli, store, files, flags)
    const agentsFirst = [...given, ...read].sort((a, b) => a.kind.localeCompare(b.kind))
    for (const file of agentsFirst) await applyOne(cli, store, file, flags)
  } finally {
    await store.close()
  }
}

async function applyOne(
  cli: Cli,
  { registry }: OpenStore,
  file: RegistryFile,
  flags: ApplyFlags,
): Promise<void> {
  const { id, kind, data } = file
  if (kind === "agents") {
    for (const agent of await applyAgents(registry, data)) tell(cli, "agent", agent, flags)
    return
  }
  const { agents, ...applied } = await applyDefinition(registry, data, { id })
  const own = applied.changes.filter(({ of }) => of !== "agent")
  tell(cli, "workflow", { ...applied, changes: own }, flags)
  for (const agent of agents) tell(cli, "agent", agent, flags)
}

function tell(
  { out }: Cli,
  kind: "agent" | "workflow",
  { id, outcome, changes }: AppliedAgent | Omit<Applied, "agents">,
  { json, quiet }: ApplyFlags,
): void {
  if (json) return out.line(jsonLine({ [kind]: id, outcome, changes }))
  if (quiet) return
  const { green, dim, magenta } = out.paint
  const word = { created: green("created"), changed: magenta("changed"), unchanged: dim("unchanged") }[
    outcome
  ]
  out.line(`${word} ${kind} ${foreignLine(id)}`)
  if (outcome === "changed") printChanges(out, changes, "  ")
}
