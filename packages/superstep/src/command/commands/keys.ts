/** `superstep keys`: API keys of the server, in its store. */
import type { ApiKey, KeyOptions } from "@superstep/server"
import { Command, InvalidArgumentError, Option } from "commander"
import type { Cli } from "../cli.ts"
import {
  type BudgetFlag,
  collect,
  complete,
  helpText,
  type OutputFlags,
  outputFlags,
  parseBudget,
  parseCount,
  parseDuration,
  type StoreFlags,
  storeFlags,
} from "../flags.ts"
import { type OpenStore, onStore, storeOf } from "../open/store.ts"
import { usageError } from "../print/errors.ts"
import { printTable } from "../print/figures.ts"
import { userOf } from "../run/answerers.ts"
import { jsonText, printJsonLines, sanitizeLine } from "../terminal/terminal.ts"

type Flags = OutputFlags & StoreFlags

interface CreateFlags extends Flags {
  readonly role: KeyOptions["role"]
  readonly tenant?: string | undefined
  readonly workflow?: readonly string[] | undefined
  /** Milliseconds. */
  readonly expires?: number | undefined
  readonly budget?: BudgetFlag | undefined
  readonly budgetPer: "day" | "total"
  readonly rate?: KeyOptions["rateLimit"]
  readonly runsPerDay?: number | undefined
  readonly concurrentRuns?: number | undefined
}

const ROLES = ["viewer", "operator", "author", "admin"] as const

function keysCommand(cli: Cli): Command {
  return new Command()
    .description("Create, list and revoke API keys of the server.")
    .addHelpText("after", helpText("superstep keys create ci --role operator"))
    .addCommand(createCommand(cli))
    .addCommand(listCommand(cli), { isDefault: true })
    .addCommand(revokeCommand(cli))
}

export const commands = { keys: keysCommand }

function createCommand(cli: Cli): Command {
  const command = new Command("create")
    .description("create a key, and print it once")
    .argument("<name>", "what the key is for")
    .addOption(new Option("--role <role>", "give it this role").choices(ROLES).default("operator"))
    .option("--tenant <name>", "show it only what belongs to this tenant (default: everything)")
    .option("--workflow <name>", "show it only this workflow; repeatable (default: all)", collect)
    .option("--expires <time>", "let it work for this long: 90d, 12h (default: until revoked)", parseDuration)
    .option("--budget <parts>", "limit what its runs use: usd=5,tokens=90000", parseKeyBudget)
    .addOption(
      new Option("--budget-per <period>", "renew the budget every day, or never")
        .choices(["day", "total"])
        .default("day"),
    )
    .option("--rate <n/time>", "limit its requests per process: 100/1m", parseRate)
    .option("--runs-per-day <n>", "limit the runs that it starts in a day, in UTC", parseCount)
    .option(
      "--concurrent-runs <n>",
      "limit the runs that it has queued or running at the same time",
      parseCount,
    )
    .action((name: string, flags: CreateFlags) => create(cli, name, flags))
  return complete(
    command,
    [storeFlags, outputFlags],
    "superstep keys create ci --role operator",
    "Roles, each with the rights of those before it: viewer reads, operator starts, answers and cancels runs, author changes definitions, admin manages keys.",
  )
}

async function create(cli: Cli, name: string, flags: CreateFlags): Promise<void> {
  const { createKey } = await import("@superstep/server")
  const store = await storeOf(cli, flags)
  try {
    const key = await createKey(store, keyOptions(name, flags), userOf(cli) ?? "cli")
    if (flags.json) return cli.out.line(jsonText(key))
    cli.out.line(key.secret)
    if (!flags.quiet)
      cli.err.line(
        cli.err.paint.dim("Save this key now. It is stored as a hash only, and is not shown again."),
      )
  } finally {
    await store.close()
  }
}

function keyOptions(name: string, flags: CreateFlags): KeyOptions {
  const { role, tenant, workflow, expires, budget, budgetPer, rate, runsPerDay, concurrentRuns } = flags
  const quota = {
    ...(runsPerDay !== undefined && { runsPerDay }),
    ...(concurrentRuns !== undefined && { concurrentRuns }),
  }
  const { usd, tokens } = budget ?? {}
  return {
    name,
    role,
    ...(tenant !== undefined && { tenant }),
    ...(workflow !== undefined && { workflows: [...workflow] }),
    ...(expires !== undefined && { expiresAt: Date.now() + expires }),
    ...(budget !== undefined && {
      budget: { per: budgetPer, ...(usd !== undefined && { usd }), ...(tokens !== undefined && { tokens }) },
    }),
    ...(rate !== undefined && { rateLimit: rate }),
    ...(Object.keys(quota).length > 0 && { quota }),
  }
}

/** A key has no other budgets. */
function parseKeyBudget(text: string): Pick<BudgetFlag, "usd" | "tokens"> {
  try {
    const { usd, tokens, ...others } = parseBudget(text)
    if (Object.keys(others).length === 0) return { usd, tokens }
  } catch {
    // The message of parseBudget lists parts that a key does not have.
  }
  throw new InvalidArgumentError("Write usd=5, tokens=90000, or both, separated by a comma.")
}

function parseRate(text: string): NonNullable<KeyOptions["rateLimit"]> {
  const [, requests = "", time = ""] = /^(\d+)\/(.+)$/.exec(text) ?? []
  try {
    return { requests: parseCount(requests), seconds: Math.ceil(parseDuration(time) / 1_000) }
  } catch {
    throw new InvalidArgumentError("Write a number of requests per time, for example 100/1m.")
  }
}

function listCommand(cli: Cli): Command {
  const command = new Command("list")
    .description("list the keys, without their secrets")
    .action(onStore(cli, list))
  return complete(command, [storeFlags, outputFlags], "superstep keys list --store sqlite:data/runs.db")
}

async function list({ out, err }: Cli, store: OpenStore, flags: Flags): Promise<void> {
  const { listKeys } = await import("@superstep/server")
  const keys = await listKeys(store, { limit: Number.POSITIVE_INFINITY })
  if (flags.json) return printJsonLines(out, keys)
  if (keys.length === 0) {
    if (!flags.quiet) err.line("There are no keys. Create one: superstep keys create NAME")
    return
  }
  const columns = [
    { title: "ID" },
    { title: "NAME", canShrink: true },
    { title: "ROLE" },
    { title: "TENANT", canShrink: true },
    { title: "STATE" },
  ]
  printTable(
    out,
    columns,
    keys.map((key) => [key.id, key.name, key.role, key.tenant ?? "all", stateOf(key)]),
  )
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== undefined) return "revoked"
  if (expiresAt === undefined) return "valid"
  const day = new Date(expiresAt).toISOString().slice(0, 10)
  return expiresAt <= Date.now() ? `expired ${day}` : `until ${day}`
}

function revokeCommand(cli: Cli): Command {
  const command = new Command("revoke")
    .description("revoke a key: it no longer works")
    .argument("<id>", "the id of the key, as listed")
    .action(onStore(cli, revoke))
  return complete(command, [storeFlags, outputFlags], "superstep keys revoke 5f0c2a9b7d1e4c36")
}

async function revoke({ out }: Cli, store: OpenStore, id: string, flags: Flags): Promise<void> {
  const { revokeKey } = await import("@superstep/server")
  const revoked = await revokeKey(store, id)
  if (revoked === undefined)
    throw usageError(`There is no key "${sanitizeLine(id)}". List them: superstep keys list`)
  if (flags.json) out.line(jsonText(revoked))
  else if (!flags.quiet) out.line(`Revoked ${revoked.id} (${sanitizeLine(revoked.name)}).`)
}
