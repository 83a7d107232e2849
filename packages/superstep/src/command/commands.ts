/** The commands there are. Each module is loaded when its command is used, so that one costs nothing to the others. */
import type { CommandModule } from "./cli.ts"

export interface CommandEntry {
  readonly name: string
  /** For the list of commands. */
  readonly summary: string
  readonly load: () => Promise<CommandModule>
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "run",
    summary: "run a workflow, or talk to an agent",
    load: () => import("./commands/run.ts"),
  },
  {
    name: "exec",
    summary: "run a workflow in a script: text on stdout, no questions",
    load: () => import("./commands/exec.ts"),
  },
  { name: "chat", summary: "a conversation with an agent", load: () => import("./commands/chat.ts") },
  {
    name: "ask",
    summary: "answer a question over your own data",
    load: () => import("./commands/ask.ts"),
  },
  {
    name: "research",
    summary: "a report with its sources, from the web and your documents",
    load: () => import("./commands/research.ts"),
  },
  {
    name: "validate",
    summary: "check definitions, all problems at once",
    load: () => import("./commands/validate.ts"),
  },
  { name: "graph", summary: "draw a workflow", load: () => import("./commands/graph.ts") },
  { name: "eject", summary: "a definition as TypeScript", load: () => import("./commands/eject.ts") },
  { name: "schema", summary: "JSON Schemas for editors", load: () => import("./commands/schema.ts") },
  {
    name: "runs",
    summary: "what runs did, and going on with them",
    load: () => import("./commands/runs.ts"),
  },
  { name: "inbox", summary: "questions that wait for an answer", load: () => import("./commands/inbox.ts") },
  { name: "respond", summary: "answer a question of a run", load: () => import("./commands/respond.ts") },
  {
    name: "apply",
    summary: "put definitions into the store",
    load: () => import("./commands/registry-apply.ts"),
  },
  {
    name: "diff",
    summary: "what a file would change of a stored definition",
    load: () => import("./commands/registry-diff.ts"),
  },
  {
    name: "export",
    summary: "a stored definition as a file",
    load: () => import("./commands/registry-export.ts"),
  },
  {
    name: "delete",
    summary: "take a definition out of the store",
    load: () => import("./commands/registry-delete.ts"),
  },
  { name: "init", summary: "a new project from a template", load: () => import("./commands/init.ts") },
  {
    name: "storage",
    summary: "how much is stored, and letting old runs go",
    load: () => import("./commands/storage.ts"),
  },
  {
    name: "index",
    summary: "documents to look things up in",
    load: () => import("./commands/document-index.ts"),
  },
  { name: "models", summary: "providers, keys, prices", load: () => import("./commands/models.ts") },
  { name: "doctor", summary: "check this installation", load: () => import("./commands/doctor.ts") },
  {
    name: "completion",
    summary: "completion of commands for bash, zsh or fish",
    load: () => import("./commands/completion.ts"),
  },
]
