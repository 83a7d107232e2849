/** `superstep runs why`: where the messages of a task went, edge by edge, and why. */
import { type ExplainedEdge, why } from "@superstep/engine"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { complete, type OutputFlags, outputFlags, parseCount, type StoreFlags, storeFlags } from "../flags.ts"
import { type OpenStore, onStore } from "../open/store.ts"
import { findRun } from "../run/find-run.ts"
import { clipped, jsonText, sanitizeLine } from "../terminal/terminal.ts"
import { RUN_ID } from "./runs-show.ts"

interface WhyFlags extends OutputFlags, StoreFlags {
  readonly path?: readonly string[] | undefined
}

export function whyCommand(cli: Cli): Command {
  const command = new Command("why")
    .description("show where the messages of a task went, and why")
    .argument("<run>", RUN_ID)
    .argument("<task>", "the number of the task, as `superstep runs events` shows it: node#task", parseCount)
    .option(
      "--path <node#task>",
      "a task of this sub-workflow; repeat it for deeper ones",
      (part: string, before: readonly string[] = []) => [...before, part],
    )
    .action(onStore(cli, explain))
  return complete(command, [storeFlags, outputFlags], "superstep runs why 4f2a91c0 3")
}

async function explain(
  { out, err }: Cli,
  store: OpenStore,
  id: string,
  task: number,
  flags: WhyFlags,
): Promise<void> {
  const { runId } = await findRun(store, id)
  const found = await why(store, runId, task, { path: flags.path })
  if (flags.json) return out.line(jsonText(found))
  const name = sanitizeLine(`${found.node}#${task}`)
  if (found.error !== undefined) err.line(`${name} failed: ${sanitizeLine(found.error.message)}`)
  if (found.seq === undefined) return err.line(`${name} has not ended: it has sent no message yet.`)
  for (const { value, isOutput, undelivered, edges } of found.messages) {
    const text = sanitizeLine(jsonText(value))
    out.line(out.paint.bold(flags.verbose ? text : clipped(text, out.width)))
    for (const edge of edges) out.line(`  ${edge.taken ? "→" : " "} ${sanitizeLine(edgeText(edge))}`)
    if (isOutput) out.line("  → output")
    if (undelivered !== undefined) out.line(`    not delivered: ${sanitizeLine(undelivered)}`)
  }
}

function edgeText({ to = "output", label, reason }: ExplainedEdge): string {
  return `${to}${label === undefined ? "" : ` [${label}]`}: ${reason}`
}
