/**
 * Validates and runs every definition of a folder against a stand-in model, and prints a table:
 * `npm run try:files -- FOLDER [--details]`.
 *
 * Nothing outside of this machine is called: MCP servers, OpenAPI documents and remote agents are stand-ins, hooks do nothing,
 * tool calls that need approval are denied, and documents to index must exist. Runs work in an empty folder.
 */
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { documentsIn, memoryIndex } from "@superstep/retrieval"
import type { PlanFunctions } from "superstep/definitions"
import { type OfferedTool, type PlannedCall, smallest, standInServer } from "./stand-in-server.ts"
import { standInToolset, type TriedFile, tryFile } from "./try-file.ts"

/** Tools that only read or delegate; each run calls up to three of them. */
const HARMLESS =
  /^(think|todo_read|list_tasks|next_task|transfer_task|handoff|list_directory|memory_list|search_tool|.*_stand_in|list_background_agents|run_background_agent|change_model|read_skill|user_prompt)$/

function harmlessCalls(tools: readonly OfferedTool[]): readonly PlannedCall[] {
  const chosen = tools.filter(({ name }) => HARMLESS.test(name)).slice(0, 3)
  return chosen.map(({ name, parameters }) => ({ name, args: JSON.stringify(smallest(parameters)) }))
}

function functionsFrom(root: string): PlanFunctions {
  const from = "stand-in"
  const nameOf = (options: unknown) => String((Object(options) as { name?: unknown }).name ?? "server")
  // Servers on one host have different tools, which their stand-ins must have too.
  const portOf = ({ url }: { url?: string }) =>
    url !== undefined && URL.canParse(url) ? new URL(url).port : ""
  return {
    mcpToolset: {
      from,
      make: (address: object) => standInToolset(`${nameOf(address)} ${portOf(address)}`.trim()),
    },
    openapi: { from, make: () => standInToolset("openapi") },
    a2aTool: { from, make: (options: unknown) => standInToolset(nameOf(options)) },
    commandHooks: { from, make: () => ({}) },
    documentsIn: {
      from,
      make: (paths: readonly string[]) =>
        documentsIn(paths, { root, embeddings: "none", index: join(root, "index.db") }),
    },
    memoryIndex: { from, make: () => memoryIndex(join(root, "memories"), { embeddings: false }) },
  } as PlanFunctions
}

function definitionsIn(folder: string): readonly string[] {
  if (statSync(folder).isFile()) return [folder]
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()
  return entries
    .filter((one) => /\.(ya?ml|json)$/.test(one))
    .map((one) => join(folder, one))
    .filter((one) => /^\s*"?(agents|nodes|workflow)"?\s*:/m.test(readFileSync(one, "utf8")))
}

/** Variables that a file reads, so that none is missing. */
function variablesIn(text: string): { [name: string]: string } {
  const names = [...text.matchAll(/\$\{?(?:env\.)?([A-Z][A-Z0-9_]+)\b/g)].map(([, name = ""]) => name)
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? "stand-in"]))
}

function row(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, i) => cell.padEnd(widths[i] ?? 0))
    .join("  ")
    .trimEnd()
}

async function main(args: readonly string[]): Promise<void> {
  const [folder = "."] = args.filter((one) => !one.startsWith("--"))
  const root = resolve(folder)
  const files = definitionsIn(root)
  const server = await standInServer(harmlessCalls)
  const home = process.cwd()
  const tried: TriedFile[] = []
  for (const file of files) {
    process.chdir(mkdtempSync(join(tmpdir(), "try-")))
    const env = variablesIn(readFileSync(file, "utf8"))
    const functions = functionsFrom(process.cwd())
    tried.push(await tryFile(file, { url: server.url, functions, env }))
  }
  process.chdir(home)
  await server.close()
  const names = tried.map(({ file }) => relative(root, file) || folder)
  const widths = [Math.max(4, ...names.map((name) => name.length)), 9, 8, 4]
  console.log(row(["FILE", "VALIDATES", "WARNINGS", "RUNS", "OUTCOME"], widths))
  for (const [i, { validates, warnings, problems, outcome }] of tried.entries()) {
    const cells = [
      names[i] ?? "",
      validates ? "yes" : "no",
      String(warnings.length),
      outcome === undefined ? "no" : "yes",
    ]
    console.log(row([...cells, outcome ?? problems[0] ?? ""], widths))
    if (args.includes("--details")) for (const line of [...problems, ...warnings]) console.log(`    ${line}`)
  }
  const valid = tried.filter(({ validates }) => validates).length
  const well = tried.filter(({ outcome }) => outcome === "completed").length
  console.log(`\n${tried.length} files: ${valid} validate, ${well} run to their end.`)
  if (well < tried.length) process.exitCode = 1
}

await main(process.argv.slice(2))
