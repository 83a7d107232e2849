/** `superstep delete`: takes a definition, or an agent, out of the store; not while somebody needs it. */
import { removeAgent, removeDefinition } from "@superstep/engine/definitions"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { foreignLine } from "../terminal.ts"
import { unknownDefinition } from "../unknown-definition.ts"
import { useStore } from "../use-store.ts"

interface DeleteFlags extends OutputFlags, StoreFlags {
  readonly force?: true | undefined
}

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Takes a definition, with the agents that it brought, or an agent out of the store.")
    .argument("<id>", "of the definition, or of an agent")
    .option("--force", "although runs of it are in flight, or definitions use it")
    .addHelpText("after", "\nFor example:\n  superstep delete support")
    .action((id: string, flags: DeleteFlags) =>
      useStore(cli, flags, (store) => remove(cli, store, id, flags)),
    )
  return outputFlags(storeFlags(made))
}

async function remove({ out, err }: Cli, store: OpenStore, id: string, flags: DeleteFlags): Promise<void> {
  const { registry } = store
  const { force, json, quiet } = flags
  if ((await registry.definition(id)) === undefined) {
    const [agent] = await registry.agents([id])
    if (agent === undefined) throw await unknownDefinition(registry, id)
    await removeAgent(registry, id, { force })
    if (json) out.line(jsonLine({ agent: id, deleted: true }))
    else if (!quiet) err.line(`Deleted agent ${foreignLine(id)}.`)
    return
  }
  const removed = await removeDefinition(registry, store, id, { force })
  if (json) return out.line(jsonLine({ workflow: id, deleted: true, ...removed }))
  if (quiet) return
  const { agents, kept, runs } = removed
  err.line(`Deleted ${foreignLine(id)}.`)
  if (agents.length > 0) err.line(`  with its agents: ${agents.map(foreignLine).join(", ")}`)
  if (kept.length > 0) err.line(`  agents that others use stay: ${kept.map(foreignLine).join(", ")}`)
  if (runs > 0) err.line(`  ${counted(runs, "run")} in flight cannot go on.`)
}
