/** Tool names in `tools`, `allow`, `ask` and `deny`. One that matches no tool is reported: a typo in `deny` allows the tool. */
import { nearest, type Path } from "../../document/index.ts"
import { LSP_TOOLS } from "../../tools/internal.ts"
import type { DocumentReport } from "../dialect-input.ts"
import type { AgentData, PermissionsData, ToolsetData } from "./agent-shape.ts"
import { ragToolName } from "./rag.ts"

const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  think: ["think"],
  todo: ["todo_write", "todo_update", "todo_read"],
  memory: ["memory_add", "memory_update", "memory_remove", "memory_search", "memory_list"],
  filesystem: [
    "read_file",
    "read_multiple_files",
    "list_directory",
    "directory_tree",
    "search_files",
    "search_files_content",
    "write_file",
    "edit_file",
    "create_directory",
    "remove_directory",
  ],
  shell: ["shell"],
  fetch: ["fetch"],
  tasks: [
    "create_task",
    "update_task",
    "delete_task",
    "add_dependency",
    "remove_dependency",
    "get_task",
    "list_tasks",
    "next_task",
  ],
  user_prompt: ["user_prompt"],
  model_picker: ["change_model", "revert_model"],
  background_agents: [
    "run_background_agent",
    "list_background_agents",
    "view_background_agent",
    "stop_background_agent",
  ],
  lsp: LSP_TOOLS,
}

/** Undefined if only the server knows the tools. */
export function toolNames(data: ToolsetData): readonly string[] | undefined {
  if ((data.type === "script" || data.type === "shell") && data.shell !== undefined) {
    return Object.keys(data.shell)
  }
  if (data.type === "api") return [data.api_config.name]
  if (data.type === "a2a") return [a2aToolName(data)]
  if (data.type === "rag") return [ragToolName(data)]
  if (data.type === "memory" && data.scope !== undefined) return ["remember", "recall", "forget"]
  return Object.hasOwn(BUILT_IN, data.type) ? BUILT_IN[data.type] : undefined
}

/** The tools of an agent; undefined if some are known only at run time. */
export function agentToolNames(agent: AgentData): readonly string[] | undefined {
  const { toolsets = [], sub_agents = [], handoffs = [] } = agent
  const names = toolsets.map(toolNames)
  if (names.includes(undefined)) return undefined
  const transfer = sub_agents.length > 0 ? ["transfer_task"] : []
  const handoff = handoffs.length > 0 ? ["handoff"] : []
  const isDeferred = toolsets.some((one) => "defer" in one && one.defer !== undefined && one.defer !== false)
  const deferred = isDeferred ? ["search_tool", "add_tool"] : []
  const skills = agent.skills === undefined ? [] : ["read_skill", "read_skill_file"]
  const rag = agent.rag ?? []
  return [...names.flatMap((one) => one ?? []), ...transfer, ...handoff, ...deferred, ...skills, ...rag]
}

/** The tool that asks a remote agent. */
export function a2aToolName({
  name,
  url,
}: {
  readonly name?: string | undefined
  readonly url: string
}): string {
  const written = name ?? (URL.canParse(url) ? new URL(url).hostname : "remote_agent")
  return written.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)
}

/** `permissions` of an agent, or of a file for all its agents together. */
export function checkPermissions(
  permissions: PermissionsData | undefined,
  names: readonly string[] | undefined,
  whose: string,
  path: Path,
  report: DocumentReport,
): void {
  for (const kind of ["deny", "allow", "ask"] as const) {
    checkPatterns(permissions?.[kind], names, whose, [...path, kind], report)
  }
}

export function checkPatterns(
  patterns: readonly string[] | undefined,
  names: readonly string[] | undefined,
  whose: string,
  path: Path,
  report: DocumentReport,
): void {
  if (names === undefined) return
  const known = names.length === 0 ? "there are no tools" : `the tools are ${names.join(", ")}`
  for (const [i, pattern] of (patterns ?? []).entries()) {
    const [name = ""] = ourToolName(pattern).split(":")
    if (names.some((one) => matches(name, one))) continue
    const message = `"${pattern}" matches no tool of ${whose} and has no effect; ${known}.`
    report.warning("UNKNOWN_TOOL", message, [...path, i], nearest(name, names))
  }
}

/** `*` matches any characters, `?` exactly one. */
function matches(pattern: string, name: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replace(/\?/g, ".")
  return new RegExp(`^${source}$`, "i").test(name)
}

/** cagent's tool names, and the names that Superstep uses. */
const OURS: Readonly<Record<string, string>> = {
  create_todo: "todo_write",
  create_todos: "todo_write",
  update_todo: "todo_update",
  update_todos: "todo_update",
  list_todos: "todo_read",
  add_memory: "memory_add",
  get_memories: "memory_list",
  search_memories: "memory_search",
  update_memory: "memory_update",
  delete_memory: "memory_remove",
  list_directory_with_sizes: "list_directory",
}

/** Superstep's name of the tool in a permission pattern, followed by the rest of the pattern. */
export function ourToolName(pattern: string): string {
  // `mcp:server:tool` also names the server; here tools have their own names.
  const [, bare = pattern] = /^mcp:[^:]*:(.+)$/.exec(pattern) ?? []
  const colon = bare.indexOf(":")
  const name = colon < 0 ? bare : bare.slice(0, colon)
  return (Object.hasOwn(OURS, name) ? (OURS[name] as string) : name) + (colon < 0 ? "" : bare.slice(colon))
}
