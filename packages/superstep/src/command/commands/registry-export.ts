/** `superstep export`: a definition of the store as the file that it came from. */
import type { Json } from "@superstep/engine"
import { agentData, documentText, exportDefinition } from "@superstep/engine/definitions"
import { Command, Option } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { jsonLine } from "../json-line.ts"
import type { OpenStore } from "../open-store.ts"
import { foreign } from "../terminal.ts"
import { unknownDefinition } from "../unknown-definition.ts"
import { useStore } from "../use-store.ts"

interface ExportFlags extends OutputFlags, StoreFlags {
  readonly format: "yaml" | "json"
}

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Prints a definition of the store, or an agent, as it came in.")
    .argument("<id>", "of the definition, or of an agent")
    .addOption(new Option("--format <format>", "of the text").choices(["yaml", "json"]).default("json"))
    .addHelpText("after", "\nFor example:\n  superstep export support --format yaml > support.yaml")
    .action((id: string, flags: ExportFlags) => useStore(cli, flags, (store) => print(cli, store, id, flags)))
  return outputFlags(storeFlags(made))
}

async function print(
  { out }: Cli,
  store: OpenStore,
  id: string,
  { format, json }: ExportFlags,
): Promise<void> {
  const data = await found(store, id)
  if (json) return out.line(jsonLine(data))
  const text = documentText(data, format)
  out.write(out.isTerminal ? foreign(text) : text)
}

async function found({ registry }: OpenStore, id: string): Promise<Json> {
  const document = await exportDefinition(registry, id)
  if (document !== undefined) return document as Json
  const [agent] = await registry.agents([id])
  if (agent === undefined) throw await unknownDefinition(registry, id)
  return { agents: { [id]: agentData(agent) as Json } }
}
