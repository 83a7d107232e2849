/** `superstep storage report`: how many runs there are, and what they take. */
import { Command } from "commander"
import { size } from "../amounts.ts"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags, type StoreFlags, storeFlags } from "../common-flags.ts"
import { counted } from "../figures.ts"
import { jsonLine } from "../json-line.ts"
import { type OpenStore, storeAddress } from "../open-store.ts"
import { STORED_STATUSES } from "../status-paint.ts"
import { printTable } from "../table.ts"
import { wrapped } from "../terminal.ts"
import { useStore } from "../use-store.ts"

type ReportFlags = OutputFlags & StoreFlags

const MOST_WORKFLOWS = 15

export function reportCommand(cli: Cli): Command {
  const command = new Command("report")
    .description("how many runs there are, and what they take")
    .addHelpText("after", "\nFor example:\n  superstep storage report --store sqlite:data/runs.db")
    .action((flags: ReportFlags) => useStore(cli, flags, (store) => report(cli, store, flags)))
  return outputFlags(storeFlags(command))
}

async function report({ out, io }: Cli, store: OpenStore, flags: ReportFlags): Promise<void> {
  const found = await store.report()
  if (flags.json) return out.line(jsonLine(found))
  const { runs, journal, snapshots, blobs, threads, workflows, disk } = found
  const { url, path } = storeAddress(flags.store, io.cwd)
  const all = Object.values(runs).reduce((sum, count) => sum + (count ?? 0), 0)
  const byStatus = STORED_STATUSES.flatMap((status) => (runs[status] ? [`${runs[status]} ${status}`] : []))
  out.line(out.paint.bold(path ?? url))
  const amount = ({ count, bytes }: { count: number; bytes: number }, one: string) =>
    `${counted(count, one)}, ${size(bytes)}`
  const facts = [
    ["runs", [counted(all, "run"), ...byStatus].join(", ")],
    ["journals", amount(journal, "record")],
    ["snapshots", amount(snapshots, "snapshot")],
    ["values", amount(blobs, "large value")],
    ["threads", amount(threads, "thread")],
    ...(disk === undefined ? [] : [["on disk", `${size(disk.bytes)}, of which ${size(disk.free)} are free`]]),
  ]
  for (const [name = "", text = ""] of facts) {
    const [first = "", ...more] = wrapped(text, out.width - 12)
    out.line(`  ${out.paint.dim(name.padEnd(9))} ${first}`)
    for (const line of more) out.line(`            ${line}`)
  }
  if (workflows.length === 0) return
  out.line()
  printTable(
    out,
    [
      { title: "WORKFLOW", canShrink: true },
      { title: "RUNS", align: "right" },
      { title: "SIZE", align: "right" },
    ],
    workflows
      .slice(0, MOST_WORKFLOWS)
      .map(({ workflow, runs: count, bytes }) => [workflow, String(count), size(bytes)]),
    "  ",
  )
  if (workflows.length > MOST_WORKFLOWS) out.line(`  … and ${workflows.length - MOST_WORKFLOWS} more`)
}
