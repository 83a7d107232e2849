/** `superstep models`: which providers are ready, and what a model costs. Keys are never shown. */

import { MODEL_PROVIDERS } from "@superstep/engine/packages"
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { complete, type OutputFlags, outputFlags } from "../flags.ts"
import { hasKey, installedVersion } from "../open/choose-models.ts"
import { printTable } from "../print/figures.ts"
import { printJsonLines } from "../terminal/terminal.ts"

function modelsCommand(cli: Cli): Command {
  const command = new Command()
    .description("List providers with their packages and keys, or the prices of models.")
    .argument("[names...]", "models, as provider/model")
    .action((names: readonly string[], flags: OutputFlags) =>
      names.length > 0 ? prices(names, flags, cli) : providers(flags, cli),
    )
  return complete(command, [outputFlags], "superstep models")
}

function providers({ json }: OutputFlags, { io, out }: Cli): void {
  const { env, cwd } = io
  const rows = MODEL_PROVIDERS.map(({ name: provider, package: wanted, variable }) => {
    const version = installedVersion(wanted, cwd)
    const key = variable === undefined ? undefined : hasKey(env, variable)
    const isReady = version !== undefined && key !== false
    return { provider, package: wanted, version, variable, hasKey: key, isReady }
  })
  if (json) return printJsonLines(out, rows)
  printTable(
    out,
    [{ title: "PROVIDER" }, { title: "PACKAGE" }, { title: "KEY" }, { title: "" }],
    [
      ...rows.map(({ provider, package: wanted, version, variable, hasKey: key, isReady }) => [
        provider,
        version === undefined ? `npm i ${wanted}` : `${version} installed`,
        variable === undefined ? "not needed" : key ? `${variable} is set` : `set ${variable}`,
        isReady ? "✓" : "",
      ]),
      ["offline", "built in", "not needed", "✓"],
    ],
  )
  out.line()
  out.line(out.paint.dim("To see what a model costs: superstep models PROVIDER/MODEL"))
}

async function prices(names: readonly string[], { json }: OutputFlags, { out }: Cli): Promise<void> {
  const { priceTable } = await import("@superstep/engine/models")
  const table = priceTable()
  const rows = names.map((name) => ({ model: name, price: table.priceOf(name) }))
  if (json) return printJsonLines(out, rows)
  const dollars = (amount: number | undefined) =>
    amount === undefined ? "" : `$${Number(amount.toFixed(4))}`
  printTable(
    out,
    [
      { title: "MODEL", canShrink: true },
      { title: "INPUT", align: "right" },
      { title: "OUTPUT", align: "right" },
      { title: "CACHED INPUT", align: "right" },
    ],
    rows.map(({ model, price }) =>
      price === undefined
        ? [model, "unknown", "unknown", ""]
        : [model, dollars(price.input), dollars(price.output), dollars(price.cacheRead)],
    ),
  )
  out.line()
  out.line(out.paint.dim("US dollars per million tokens, at the standard rate."))
}

export const commands = { models: modelsCommand }
