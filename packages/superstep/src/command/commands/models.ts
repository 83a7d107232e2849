/** `superstep models`: which providers can be used here, and what a model costs. Keys are never shown. */
import { Command } from "commander"
import type { Cli } from "../cli.ts"
import { type OutputFlags, outputFlags } from "../common-flags.ts"
import { installedVersion } from "../installed.ts"
import { jsonLine } from "../json-line.ts"
import { hasKey, KNOWN_PROVIDERS } from "../providers.ts"
import { printTable } from "../table.ts"

export function command(cli: Cli): Command {
  const made = new Command()
    .description("Providers: whether their package is installed and their key is set. With names: prices.")
    .argument("[names...]", "models, as provider/model, whose prices are asked for")
    .action((names: readonly string[], flags: OutputFlags) =>
      names.length > 0 ? prices(names, flags, cli) : providers(flags, cli),
    )
    .addHelpText(
      "after",
      "\nFor example:\n  superstep models\n  superstep models openai/gpt-5 anthropic/claude-opus-4-5",
    )
  return outputFlags(made)
}

function providers(flags: OutputFlags, cli: Cli): void {
  const { env, cwd } = cli.io
  const rows = KNOWN_PROVIDERS.map(({ name, package: wanted, variable }) => {
    const version = installedVersion(wanted, cwd)
    const key = variable === undefined ? undefined : hasKey(env, variable)
    return {
      provider: name,
      package: wanted,
      version,
      variable,
      hasKey: key,
      isReady: version !== undefined && key !== false,
    }
  })
  if (flags.json) {
    for (const row of rows) cli.out.line(jsonLine(row))
    return
  }
  printTable(
    cli.out,
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
  cli.out.line()
  cli.out.line(cli.out.paint.dim("superstep models PROVIDER/MODEL tells what a model costs."))
}

async function prices(names: readonly string[], flags: OutputFlags, cli: Cli): Promise<void> {
  const { priceTable } = await import("@superstep/engine/models")
  const table = priceTable()
  const rows = names.map((name) => ({ model: name, price: table.priceOf(name) }))
  if (flags.json) {
    for (const row of rows) cli.out.line(jsonLine(row))
    return
  }
  const dollars = (amount: number | undefined) =>
    amount === undefined ? "" : `$${Number(amount.toFixed(4))}`
  printTable(
    cli.out,
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
  cli.out.line()
  cli.out.line(cli.out.paint.dim("US dollars per million tokens, at the standard rate."))
}
