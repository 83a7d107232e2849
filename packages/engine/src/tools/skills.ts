/**
 * The skills toolset: folders with a SKILL.md, which an agent reads when a task needs them.
 *
 * Only names and descriptions are in the prompt. A tool returns the rest, confined to the folder of the skill: no path and
 * no link leads out of it.
 */
import { readdir } from "node:fs/promises"
import { join, resolve } from "node:path"
import { isSuperstepError } from "../core/index.ts"
import { isRecord, terminalError } from "../core/internal.ts"
import { clipped, cutText } from "../text/index.ts"
import { type ConfinedRoot, confinedRoot } from "./filesystem/confined-root.ts"
import { decodeText, readBytes } from "./filesystem/file.ts"
import { objectInput, type Toolset, tool } from "./tool.ts"

export interface SkillsOptions {
  /** Folders of skills: each skill is a folder with a SKILL.md in one of them. Folders that do not exist are skipped. */
  readonly folders?: readonly string[] | undefined
  /** Skills without a folder. */
  readonly inline?: readonly InlineSkill[] | undefined
}

export interface InlineSkill {
  readonly name: string
  readonly description: string
  readonly instructions: string
}

interface Skill {
  readonly name: string
  readonly description: string
  read(): Promise<string>
  /** Absent for a skill without a folder. */
  readonly root?: ConfinedRoot | undefined
}

const SKILL_FILE = "SKILL.md"
const MAX_SKILLS = 200
const MAX_DESCRIPTION = 1_024
const MAX_BYTES = 1_000_000
const MAX_CHARS = 50_000

export function skills({ folders = [], inline = [] }: SkillsOptions): Toolset {
  let found: readonly Skill[] = []
  const named = (name: string): Skill => {
    const skill = found.find((one) => one.name === name)
    if (skill !== undefined) return skill
    const names = found.map((one) => one.name).join(", ")
    throw terminalError("SKILL_UNKNOWN", `There is no skill "${name}". The skills are ${names}.`)
  }
  const readSkill = tool({
    name: "read_skill",
    description: "Returns the instructions of a skill. Read them before you do what the skill describes.",
    input: objectInput({ name: { type: "string", minLength: 1 } }, ["name"]),
    approval: "never",
    idempotent: true,
    run: async ({ name }: { name: string }) => cutText(await named(name).read(), MAX_CHARS),
  })
  const readSkillFile = tool({
    name: "read_skill_file",
    description: "Returns a file of a skill, such as a template that its instructions mention.",
    input: objectInput(
      {
        skill_name: { type: "string", minLength: 1 },
        path: { type: "string", minLength: 1, description: "Relative to the folder of the skill." },
      },
      ["skill_name", "path"],
    ),
    approval: "never",
    idempotent: true,
    async run({ skill_name, path }: { skill_name: string; path: string }) {
      const { root } = named(skill_name)
      if (root === undefined) throw terminalError("FILE_NOT_FOUND", `The skill "${skill_name}" has no files.`)
      return cutText(await readText(root, path), MAX_CHARS)
    },
  })
  return {
    name: "skills",
    get instructions() {
      if (found.length === 0) return undefined
      const lines = found.map(({ name, description }) => `- ${name}: ${description}`)
      return `Skills are instructions for special tasks. If a task matches the description of a skill, read it with read_skill first, and the files that it mentions with read_skill_file.\n${lines.join("\n")}`
    },
    async tools(ctx) {
      found = await discover(folders, inline, (problem) => ctx.log("warn", problem))
      if (found.length === 0) return []
      return found.some(({ root }) => root !== undefined) ? [readSkill, readSkillFile] : [readSkill]
    },
  }
}

/** The first skill of a name counts. */
async function discover(
  folders: readonly string[],
  inline: readonly InlineSkill[],
  warn: (problem: string) => void,
): Promise<readonly Skill[]> {
  const all = new Map<string, Skill>()
  const add = (skill: Skill) => {
    if (!all.has(skill.name) && all.size < MAX_SKILLS) all.set(skill.name, skill)
  }
  for (const { name, description, instructions } of inline) {
    add({ name, description: oneLine(description), read: async () => instructions })
  }
  for (const folder of folders) {
    for (const place of await placesIn(resolve(folder))) {
      try {
        add(await skillIn(place))
      } catch (error) {
        if (!isSuperstepError(error)) throw error
        if (error.code !== "FILE_NOT_FOUND") warn(`The skill in ${place} is left out: ${error.message}`)
      }
    }
  }
  return [...all.values()]
}

/** The folders that may be skills. */
async function placesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = entries.filter((one) => one.isDirectory()).map(({ name }) => name)
  return names.sort().map((name) => join(folder, name))
}

async function skillIn(folder: string): Promise<Skill> {
  const root = confinedRoot(folder, { deny: [] })
  const text = await readText(root, SKILL_FILE)
  const { name, description } = await headOf(text)
  return { name, description, root, read: async () => readText(root, SKILL_FILE) }
}

async function readText(root: ConfinedRoot, path: string): Promise<string> {
  return decodeText(await readBytes(root, await root.locate(path), MAX_BYTES), path)
}

/** The front matter: YAML between two lines of dashes, with `name` and `description`. */
async function headOf(text: string): Promise<{ readonly name: string; readonly description: string }> {
  const [, head] = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/.exec(text) ?? []
  if (head === undefined) throw invalid("it does not begin with name and description between lines of ---")
  // Loaded on first use: most agents have no skills.
  const { parseDocument } = await import("../document/index.ts")
  const { document } = parseDocument(head, SKILL_FILE)
  const data = document?.data
  const { name, description } = isRecord(data) ? data : {}
  if (typeof name !== "string" || !/^[\w.-]{1,64}$/.test(name)) {
    throw invalid('its name must be 1 to 64 letters, digits, ".", "_" or "-"')
  }
  if (typeof description !== "string" || description.trim() === "") throw invalid("it has no description")
  return { name, description: oneLine(description) }
}

function invalid(reason: string) {
  return terminalError("SKILL_INVALID", `${SKILL_FILE}: ${reason}.`)
}

function oneLine(text: string): string {
  return clipped(text.replace(/\s+/g, " ").trim(), MAX_DESCRIPTION)
}
