/** `--docs`, `--csv` and `--db`: the data of a question without a file, converted to a goal configuration. */
import { existsSync, statSync } from "node:fs"
import { basename, extname, resolve } from "node:path"
import type { DatabaseSettings, IndexSettings } from "@superstep/engine/patterns"
import type { Command } from "commander"
import type { Cli } from "../cli.ts"
import { collect } from "../flags.ts"
import { usageError } from "../print/errors.ts"

export interface SourceFlags {
  readonly docs?: readonly string[] | undefined
  readonly csv?: readonly string[] | undefined
  readonly db?: readonly string[] | undefined
  readonly embeddings?: string | undefined
}

/** Stored with the runs of such a question, so that they can be opened again. Persisted; it contains no passwords. */
export interface AskSettings {
  /** Absolute. */
  readonly docs?: readonly string[] | undefined
  readonly csv?: readonly string[] | undefined
  /** Addresses, `${NAME}` for a variable, or absolute paths. */
  readonly db?: readonly string[] | undefined
  readonly embeddings?: string | undefined
}

export function sourceFlags(command: Command): Command {
  return command
    .option("--docs <path>", "search these documents: files, folders or one index; repeatable", collect)
    .option(
      "--csv <path>",
      "ask these tables: CSV, TSV, JSON, Parquet or Excel files, or folders of them; repeatable",
      collect,
    )
    .option(
      "--db <url>",
      "ask this database: postgresql://…, mysql://…, a SQLite file, or '$NAME' for an environment variable; repeatable",
      collect,
    )
}

export function cacheFlag(command: Command): Command {
  return command.option(
    "--cache <folder>",
    "keep loaded tables here (default: SUPERSTEP_CACHE, or your cache folder)",
  )
}

export function hasSources({ docs, csv, db }: SourceFlags): boolean {
  return [docs, csv, db].some((paths) => paths !== undefined)
}

/** Moves passwords from the settings to secrets, which are never stored. */
export function askSettings(
  { docs, csv, db, embeddings }: SourceFlags,
  { cwd, env }: Pick<Cli["io"], "cwd" | "env">,
): { readonly settings: AskSettings; readonly secrets: Readonly<Record<string, string>> } {
  const secrets: Record<string, string> = {}
  const absolute = (flag: string, paths: readonly string[] | undefined) =>
    paths?.map((path) => {
      if (existsSync(resolve(cwd, path))) return resolve(cwd, path)
      throw usageError(`Cannot read ${flag} ${path}: no such file or folder.`)
    })
  const addresses = db?.map((text, i) => {
    const [, variable] = VARIABLE.exec(text) ?? []
    if (variable !== undefined) {
      if (env[variable]) return `\${${variable}}`
      throw usageError(`The environment variable ${variable} of --db is not set.`)
    }
    if (schemeOf(text) === undefined) return databaseFile(text, cwd)
    if (!hasPassword(text)) return text
    const name = ["DB", i + 1].join("_")
    secrets[name] = text
    return `\${${name}}`
  })
  const settings = {
    docs: absolute("--docs", docs),
    csv: absolute("--csv", csv),
    db: addresses,
    embeddings,
  }
  const known = Object.entries(settings).filter(([, value]) => value !== undefined)
  return { settings: Object.fromEntries(known) as AskSettings, secrets }
}

const VARIABLE = /^\$\{?(\w+)\}?$/

function schemeOf(text: string): string | undefined {
  return /^([a-z][a-z+]+):\/\//i.exec(text)?.[1]?.toLowerCase()
}

/** The error does not contain the URL, which may have a password. */
function hasPassword(url: string): boolean {
  if (!URL.canParse(url))
    throw usageError("--db is not a valid URL. Write it as postgresql://user:password@host/database.")
  const { password, searchParams } = new URL(url)
  return password !== "" || [...searchParams.keys()].some((name) => /pass|secret|token|key/i.test(name))
}

function databaseFile(text: string, cwd: string): string {
  const path = resolve(cwd, text.replace(/^sqlite:/, ""))
  if (existsSync(path) && statSync(path).isFile()) return path
  throw usageError(
    `Cannot read --db ${text}: no such file. Write postgresql://…, mysql://…, or the path of a SQLite file.`,
  )
}

/** The equivalent configuration as JSON. `lookup` finds variables and secrets. */
export function askConfig(
  settings: AskSettings,
  model: string,
  lookup: (name: string) => string | undefined,
): string {
  const databases = [
    ...tablesOf(settings.csv ?? []),
    ...(settings.db ?? []).map((db) => databaseOf(db, lookup)),
  ]
  const taken = new Set<string>()
  const search = {
    ...(databases.length > 0 && { databases: databases.map((one) => ({ ...one, id: free(one.id, taken) })) }),
    ...(settings.docs !== undefined && { vector: documentsOf(settings.docs, settings.embeddings) }),
  }
  const roles = ["triage", "assistant", "sql", "reviewer"]
  return JSON.stringify({
    name: "ask",
    agents: Object.fromEntries(roles.map((role) => [role, { model, ...INSTRUCTIONS[role] }])),
    assistants: ["assistant"],
    ...(databases.length > 0 && { sql_agent: "sql" }),
    search,
  })
}

const INSTRUCTIONS: Readonly<Record<string, { readonly instruction: string } | undefined>> = {
  assistant: {
    instruction: "Answer the question from the context. Say so if the context does not have the answer.",
  },
}

/** Each folder is a database. Files that are named individually form one database. */
function tablesOf(paths: readonly string[]): DatabaseSettings[] {
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const files = paths.filter((path) => !isFolder(path))
  return [
    ...paths.filter(isFolder).map((folder) => ({ type: "csv" as const, id: basename(folder), folder })),
    ...(files.length > 0 ? [{ type: "csv" as const, id: "files", files }] : []),
  ]
}

function databaseOf(text: string, lookup: (name: string) => string | undefined): DatabaseSettings {
  const [, variable] = VARIABLE.exec(text) ?? []
  const url = variable === undefined ? text : (lookup(variable) ?? "")
  const scheme = schemeOf(url)
  if (scheme === undefined && variable === undefined) {
    return { type: "sqlite", id: basename(text, extname(text)), file: text }
  }
  const type = DATABASES[scheme ?? ""]
  if (type === undefined) {
    throw usageError(
      `Unknown database ${scheme ?? ""}:// in --db. Write postgresql://…, mysql://…, or the path of a SQLite file.`,
    )
  }
  const name = URL.canParse(url) ? decodeURIComponent(new URL(url).pathname.slice(1)) : ""
  return { type, id: name === "" ? type : name, url: text }
}

const DATABASES: Readonly<Record<string, "postgresql" | "mysql" | undefined>> = {
  postgres: "postgresql",
  postgresql: "postgresql",
  mysql: "mysql",
  mariadb: "mysql",
}

function documentsOf(docs: readonly string[], embeddings: string | undefined): IndexSettings {
  const indexes = docs.filter((path) => extname(path) === ".db" && statSync(path).isFile())
  if (indexes.length === 0) return { documents: [...docs], ...(embeddings !== undefined && { embeddings }) }
  if (docs.length > 1) throw usageError("--docs takes one index, or files and folders, not both.")
  return { index: indexes[0] as string }
}

function free(id: string, taken: Set<string>): string {
  let name = id
  for (let n = 2; taken.has(name); n += 1) name = `${id}-${n}`
  taken.add(name)
  return name
}
